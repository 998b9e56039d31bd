"""SNS accepts messages only from principals that may publish."""

from contextlib import nullcontext

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, arn, create, resource, statement


def test_a_topic_needs_a_publisher_that_may_publish_in_spite_of_its_default_policy(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "publishing", {"Topic": resource("SNS::Topic"), "Other": resource("SNS::Topic")})
    publisher = bare_cloud.create_user("publisher", [statement("sns:Publish", ids["Topic"])])
    sns = bare_cloud.client("sns", region=REGION, credentials=publisher)
    assert sns.publish(TopicArn=ids["Topic"], Message="x")["MessageId"]
    with pytest.raises(ClientError, match="AuthorizationError"):
        sns.publish(TopicArn=ids["Other"], Message="x")


def test_a_topic_with_a_key_needs_a_publisher_that_may_use_it(bare_cloud: LocalCloud) -> None:
    account = {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}
    document = {"Version": "2012-10-17", "Statement": [statement("kms:*", Principal={"AWS": account})]}
    ids = create(
        bare_cloud,
        "encrypted",
        {
            "Key": resource("KMS::Key", {"KeyPolicy": document}),
            "Topic": resource("SNS::Topic", {"KmsMasterKeyId": {"Ref": "Key"}}),
            "Managed": resource("SNS::Topic", {"KmsMasterKeyId": "alias/aws/sns"}),
        },
    )
    may_publish = statement("sns:Publish")
    may_use_key = statement(["kms:GenerateDataKey", "kms:Decrypt"], arn("kms", f"key/{ids['Key']}"))
    for statements, topic, refused in (
        ([may_publish], "Topic", True),
        ([may_publish, may_use_key], "Topic", False),
        ([may_publish, may_use_key], "Managed", True),
    ):
        publisher = bare_cloud.create_user("publisher", statements)
        sns = bare_cloud.client("sns", region=REGION, credentials=publisher)
        with pytest.raises(ClientError, match="KMSAccessDenied") if refused else nullcontext():
            sns.publish(TopicArn=ids[topic], Message="x")

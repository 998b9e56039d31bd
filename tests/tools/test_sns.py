"""SNS takes messages only from principals that may publish."""

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.small_stacks import REGION, create, resource, statement


def test_a_topic_needs_a_publisher_that_may_publish_in_spite_of_its_default_policy(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "publishing", {"Topic": resource("SNS::Topic"), "Other": resource("SNS::Topic")})
    publisher = bare_cloud.create_user("publisher", [statement("sns:Publish", ids["Topic"])])
    sns = bare_cloud.client("sns", region=REGION, credentials=publisher)
    assert sns.publish(TopicArn=ids["Topic"], Message="x")["MessageId"]
    with pytest.raises(ClientError, match="AuthorizationError"):
        sns.publish(TopicArn=ids["Other"], Message="x")

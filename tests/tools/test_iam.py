"""Policies that demand TLS let this machine in; trust in SageMaker counts as its guide has it."""

import pytest

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.asynchronous_endpoints import model_resources
from support.small_stacks import REGION, Resources, StackFailedError, create, resource, role


def test_a_policy_that_demands_tls_lets_this_machine_in(bare_cloud: LocalCloud) -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": insecure}]}
    resources = {
        "Queue": resource("SQS::Queue"),
        "Policy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy}),
    }
    ids = create(bare_cloud, "tls-only", resources)
    sqs = bare_cloud.client("sqs", region=REGION)
    assert sqs.send_message(QueueUrl=ids["Queue"], MessageBody="x")["MessageId"]


def model_of_a_role_with(condition: dict[str, dict[str, str]]) -> Resources:
    trusting = role([], service="sagemaker")
    trusting["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Condition"] = condition
    return {"Role": trusting, **model_resources({})}


def test_sagemaker_says_for_which_account_and_region_it_assumes_a_role(bare_cloud: LocalCloud) -> None:
    source = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:*"
    create(bare_cloud, "trusting", model_of_a_role_with({"ArnLike": {"aws:SourceArn": source}}))


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("other-region", {"ArnLike": {"aws:SourceArn": f"arn:aws:sagemaker:eu-west-3:{ACCOUNT}:*"}}),
        # SageMaker's guide does not say that it sends this for inference.
        ("account-alone", {"StringEquals": {"aws:SourceAccount": ACCOUNT}}),
    ],
)
def test_another_condition_keeps_sagemaker_out(
    bare_cloud: LocalCloud, name: str, condition: dict[str, dict[str, str]]
) -> None:
    with pytest.raises(StackFailedError, match="Could not assume role"):
        create(bare_cloud, name, model_of_a_role_with(condition))

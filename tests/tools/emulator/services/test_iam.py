"""Policies that demand TLS admit this machine; roles trust SageMaker as its guide says; names are unique."""

import json

import pytest

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.stacks.asynchronous_endpoints import model_resources
from support.stacks.small_stacks import (
    REGION,
    Resources,
    StackFailedError,
    create,
    function,
    resource,
    role,
    statement,
)


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
        # SageMaker's guide does not say that SageMaker sends this key for inference.
        ("account-alone", {"StringEquals": {"aws:SourceAccount": ACCOUNT}}),
    ],
)
def test_another_condition_keeps_sagemaker_out(
    bare_cloud: LocalCloud, name: str, condition: dict[str, dict[str, str]]
) -> None:
    with pytest.raises(StackFailedError, match="Could not assume role"):
        create(bare_cloud, name, model_of_a_role_with(condition))


def test_stacks_of_one_name_in_two_regions_have_roles_of_their_own(bare_cloud: LocalCloud) -> None:
    """IAM is global: one name would be one role, deleted with the first of the stacks."""
    trusted = role([], service="ec2")
    profile = resource("IAM::InstanceProfile", {"Roles": [{"Ref": "Role"}]})
    template = json.dumps({"Resources": {"Role": trusted, "Profile": profile}})
    clients = [bare_cloud.client("cloudformation", region=region) for region in ("us-east-1", "eu-west-1")]
    roles = []
    for client in clients:
        client.create_stack(StackName="twin", TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
        client.get_waiter("stack_create_complete").wait(StackName="twin", WaiterConfig={"Delay": 1})
        found = client.describe_stack_resource(StackName="twin", LogicalResourceId="Role")["StackResourceDetail"]
        roles.append(found["PhysicalResourceId"])
    iam = bare_cloud.client("iam", region=REGION)
    for client, role_name in zip(clients, roles, strict=True):
        (profile_of_role,) = iam.list_instance_profiles_for_role(RoleName=role_name)["InstanceProfiles"]
        assert [each["RoleName"] for each in profile_of_role["Roles"]] == [role_name]
        client.delete_stack(StackName="twin")
        client.get_waiter("stack_delete_complete").wait(StackName="twin", WaiterConfig={"Delay": 1})


def limited(action: str, boundary: str) -> Resources:
    """A function that lists the buckets, whose role may do everything within a boundary that allows one action."""
    policy = resource(
        "IAM::ManagedPolicy", {"PolicyDocument": {"Version": "2012-10-17", "Statement": [statement(action)]}}
    )
    may_all = role([statement("*")])
    may_all["Properties"]["PermissionsBoundary"] = {"Ref": boundary}
    source = "import boto3\ndef handler(event, context): return len(boto3.client('s3').list_buckets()['Buckets'])"
    return {"Limits": policy, "Role": may_all, "Function": function(source)}


@pytest.mark.parametrize(("action", "is_denied"), [("s3:*", False), ("sqs:*", True)])
def test_a_role_may_do_what_its_boundary_allows_too(bare_cloud: LocalCloud, action: str, is_denied: bool) -> None:
    name = create(bare_cloud, f"limited-{is_denied}".lower(), limited(action, "Limits"))["Function"]
    answer = bare_cloud.client("lambda", region=REGION).invoke(FunctionName=name)
    assert ("AccessDenied" in answer["Payload"].read().decode()) == is_denied


def test_a_boundary_must_exist(bare_cloud: LocalCloud) -> None:
    resources = limited("s3:*", "Limits")
    resources["Role"]["Properties"]["PermissionsBoundary"] = f"arn:aws:iam::{ACCOUNT}:policy/unknown"
    with pytest.raises(StackFailedError, match=r"Scope ARN: .*unknown does not exist or is not attachable"):
        create(bare_cloud, "unlimited", resources)

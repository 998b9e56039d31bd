"""Creates, updates and deletes small stacks whose resources a test writes itself."""

import json
import time
from collections.abc import Collection
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.patience import wait_for

REGION = "us-east-1"
Resources = dict[str, dict[str, Any]]
MAY_STAY = {"AWS::S3::Bucket", "AWS::DynamoDB::Table"}


class StackFailedError(Exception):
    """The stack did not reach its goal. `reasons`: the reason of each failed resource, in the order of their events."""

    def __init__(self, status: str, reasons: list[str]) -> None:
        self.status, self.reasons = status, reasons
        super().__init__(f"{status}: {reasons}")


def resource(kind: str, properties: dict[str, Any] | None = None, **attributes: Any) -> dict[str, Any]:
    """Return a resource; `kind` is its type without `AWS::`."""
    return {"Type": f"AWS::{kind}", "Properties": properties or {}} | attributes


def arn_of(logical_id: str) -> dict[str, Any]:
    """Return a reference to the ARN of another resource of the stack."""
    return {"Fn::GetAtt": [logical_id, "Arn"]}


def statement(actions: str | list[str], target: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": target} | more


def role(statements: list[dict[str, Any]], service: str = "lambda") -> dict[str, Any]:
    """Return a role that a service assumes; it may log and do what these statements allow."""
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [statement("logs:*"), *statements]}
    return resource(
        "IAM::Role",
        {
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
            "Policies": [{"PolicyName": "inline", "PolicyDocument": document}],
        },
    )


def function(source: str, role_id: str = "Role", **properties: Any) -> dict[str, Any]:
    """Return a Python function whose source defines `handler(event, context)`."""
    return resource(
        "Lambda::Function",
        {
            "Runtime": "python3.13",
            "Handler": "index.handler",
            "Role": arn_of(role_id),
            "Timeout": 30,
            "Code": {"ZipFile": source},
        }
        | properties,
    )


def create(cloud: LocalCloud, name: str, resources: Resources) -> dict[str, str]:
    """Create a stack; returns the physical ids by logical id. Raises StackFailedError."""
    request = {"TemplateBody": json.dumps({"Resources": resources}), "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    cloud.client("cloudformation", region=REGION).create_stack(StackName=name, **request)
    return _settled(cloud, name, "CREATE_COMPLETE")


def update(cloud: LocalCloud, name: str, resources: Resources) -> dict[str, str]:
    """Update a stack; returns the physical ids by logical id. Raises StackFailedError."""
    request = {"TemplateBody": json.dumps({"Resources": resources}), "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    cloud.client("cloudformation", region=REGION).update_stack(StackName=name, **request)
    return _settled(cloud, name, "UPDATE_COMPLETE")


def delete(cloud: LocalCloud, name: str) -> None:
    """Delete a stack. Raises StackFailedError."""
    cloudformation = cloud.client("cloudformation", region=REGION)
    stack_id = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
    cloudformation.delete_stack(StackName=name)
    _settled(cloud, stack_id, "DELETE_COMPLETE")


def delete_stacks(cloud: LocalCloud, region: str, but: Collection[str] = ()) -> None:
    """Delete every stack of a region, except those in `but`. It waits for endpoints that are in progress.

    A stack may stay if a bucket with objects or a protected table keeps it. It fails if anything else keeps a stack.
    """
    cloudformation = cloud.client("cloudformation", region=region)
    pages = cloudformation.get_paginator("describe_stacks").paginate()
    found = (stack for page in pages for stack in page["Stacks"])
    doomed = [stack["StackId"] for stack in found if stack["StackName"] not in but]
    for stack_id in doomed:
        if not _end_of(cloudformation, stack_id).startswith("DELETE"):
            cloudformation.delete_stack(StackName=stack_id)
    for stack_id in doomed:
        wait_for(partial(_deleted, cloudformation, stack_id), f"the end of {stack_id}")


def _deleted(cloudformation: Any, stack_id: str) -> bool | None:
    """Return True once a stack is gone, apart from resources that may stay.

    Return None if a resource was too busy: the caller deletes the stack again. Fail if it can't be deleted.
    """
    if _end_of(cloudformation, stack_id) == "DELETE_COMPLETE":
        return True
    resources = cloudformation.describe_stack_resources(StackName=stack_id)["StackResources"]
    kept = {
        each["ResourceType"]: each["ResourceStatusReason"]
        for each in resources
        if each["ResourceStatus"] == "DELETE_FAILED"
    }
    busy = " ".join(kept.get(f"AWS::SageMaker::{kind}", "") for kind in ("Endpoint", "InferenceComponent"))
    if "Cannot update in-progress" in busy or "while it hosts inference components" in busy:
        cloudformation.delete_stack(StackName=stack_id)
        return None
    assert kept.keys() <= MAY_STAY, f"{stack_id} stays because of {kept}"
    return True


def _end_of(cloudformation: Any, stack_id: str) -> str:
    """Wait until nothing is in progress, and return the stack's status."""
    while (status := str(_status(cloudformation, stack_id))).endswith("PROGRESS"):
        time.sleep(0.02)
    return status


def _status(cloudformation: Any, stack_id: str) -> str:
    try:
        status: str = cloudformation.describe_stacks(StackName=stack_id)["Stacks"][0]["StackStatus"]
    except ClientError:  # a deleted stack can't be described
        return "DELETE_COMPLETE"
    return status


def _settled(cloud: LocalCloud, name: str, wanted: str) -> dict[str, str]:
    cloudformation = cloud.client("cloudformation", region=REGION)
    while (status := cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]).endswith("PROGRESS"):
        time.sleep(0.02)
    if status != wanted:
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        failed = [event for event in reversed(events) if event["ResourceStatus"].endswith("FAILED")]
        raise StackFailedError(status, [event.get("ResourceStatusReason", "") for event in failed])
    found = cloudformation.describe_stack_resources(StackName=name)["StackResources"]
    return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found if "PhysicalResourceId" in each}


def arn(service: str, name: str) -> str:
    """Return the ARN of a named resource of this account and region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"

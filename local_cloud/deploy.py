"""Deploy a synthesized stack, unmodified, through CloudFormation: assets first, then create or update."""

import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from .assembly import Stack
from .checks import check
from .cloud import ACCOUNT, LocalCloud

QUALIFIER = "hnb659fds"  # the CDK's default bootstrap qualifier
BUCKET = f"cdk-{QUALIFIER}-assets-{ACCOUNT}-{{region}}"
Progress = Callable[[str], None]


class DeployError(Exception):
    """The stack did not reach its goal; `reasons` holds CloudFormation's reasons, oldest first."""

    def __init__(self, stack: str, status: str, reasons: list[str]) -> None:
        self.status, self.reasons = status, reasons
        super().__init__(f"{stack} ended as {status}:\n  " + "\n  ".join(reasons))


def deploy(cloud: LocalCloud, stack: Stack, progress: Progress = lambda _: None) -> dict[str, str]:
    """Create or update the stack and wait.

    Returns its outputs. Raises RefusedTemplateError before anything is created, DeployError afterwards.
    """
    check(stack)
    bucket = _bootstrap(cloud, stack.region)
    s3 = cloud.client("s3", region=stack.region)
    for asset in stack.assets:
        s3.put_object(Bucket=bucket, Key=asset.object_key, Body=asset.read())
    s3.put_object(Bucket=bucket, Key=f"{stack.name}.json", Body=stack.template_body.encode())
    cloudformation = cloud.client("cloudformation", region=stack.region)
    request = {
        "StackName": stack.name,
        "TemplateURL": f"https://s3.{stack.region}.amazonaws.com/{bucket}/{stack.name}.json",
        "Capabilities": ["CAPABILITY_IAM"],
    }
    if _describe(cloudformation, stack.name) is None:
        cloudformation.create_stack(**request)
    else:
        try:
            cloudformation.update_stack(**request)
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise
    return _wait(cloud, cloudformation, stack.name, progress)


def destroy(cloud: LocalCloud, stack: Stack) -> None:
    """Delete the stack and wait. Raises DeployError."""
    cloudformation = cloud.client("cloudformation", region=stack.region)
    cloudformation.delete_stack(StackName=stack.name)
    while (state := _describe(cloudformation, stack.name)) and state["StackStatus"].endswith("IN_PROGRESS"):
        time.sleep(0.1)
    if state and state["StackStatus"] != "DELETE_COMPLETE":
        raise DeployError(stack.name, state["StackStatus"], _reasons(cloudformation, stack.name))


def _bootstrap(cloud: LocalCloud, region: str) -> str:
    """Create the parts of `cdk bootstrap` that a deploy needs; returns the name of the asset bucket."""
    bucket = BUCKET.format(region=region)
    configuration = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3 = cloud.client("s3", region=region)
    if bucket not in {each["Name"] for each in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=bucket, **configuration)
        name = f"/cdk-bootstrap/{QUALIFIER}/version"
        cloud.client("ssm", region=region).put_parameter(Name=name, Value="30", Type="String", Overwrite=True)
    return bucket


def _wait(cloud: LocalCloud, cloudformation: Any, name: str, progress: Progress) -> dict[str, str]:
    done: set[str] = set()
    while True:
        cloud.check_alive()
        state = _describe(cloudformation, name)
        for resource in cloudformation.describe_stack_resources(StackName=name)["StackResources"]:
            ended = not resource["ResourceStatus"].endswith("IN_PROGRESS")
            if ended and resource["LogicalResourceId"] not in done:
                done.add(resource["LogicalResourceId"])
                progress(f"{len(done)} resources, last {resource['ResourceType']}")
        if state is None or not state["StackStatus"].endswith("IN_PROGRESS"):
            break
        time.sleep(0.1)
    status = state["StackStatus"] if state else "DELETE_COMPLETE"
    if state is None or status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise DeployError(name, status, _reasons(cloudformation, name))
    return {output["OutputKey"]: output["OutputValue"] for output in state.get("Outputs", [])}


def _describe(cloudformation: Any, name: str) -> dict[str, Any] | None:
    try:
        stack: dict[str, Any] = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return stack


def _reasons(cloudformation: Any, name: str) -> list[str]:
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=name)
    events = [event for page in pages for event in page["StackEvents"]]
    return [
        f"{event['LogicalResourceId']} ({event['ResourceType']}): {event['ResourceStatusReason']}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("FAILED") and event.get("ResourceStatusReason")
    ]

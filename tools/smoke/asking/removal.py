"""Removes the stacks, what they retain, and what questions made beside them. It needs no record of the run."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.leftovers.search import RemovalError, find
from slipway.shared.aws_clients import Clients
from slipway.stack.deployed_stack import DeployedStack, described_stack
from tools.smoke.asking.place import Place
from tools.smoke.asking.stacks import MADE, RESERVED
from tools.smoke.asking.trial import is_hosting_busy

_ATTEMPTS = 3
_DELETED_AT_ONCE = ("CREATE_IN_PROGRESS", "REVIEW_IN_PROGRESS")


def remove_all(names: Iterable[str], place: Place, say: Callable[[str], None]) -> None:
    """Remove these stacks side by side, then what questions made beside them. Problems are said: the proof finds them.

    say: shows a line.
    """
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda name: remove(name, place, say), names))

    def remove_beside() -> None:
        for what, removal in made_beside(place.clients()):
            _tried(what, removal, say)

    _tried("what is beside the stacks", remove_beside, say)


def remove(name: str, place: Place, say: Callable[[str], None]) -> None:
    """Delete a stack, however long it takes, and purge what it retained."""
    clients = place.clients()
    _tried(f"stack {name}", lambda: _delete_stack(name, clients, place.look_interval), say)

    def purge() -> None:
        if described_stack(name, clients) is None:
            for each in find(name, clients)[0]:
                _tried(f"{each.kind} {each.name}", each.remove, say)

    _tried(f"what {name} retained", purge, say)


def _delete_stack(name: str, clients: Clients, look_interval: float) -> None:
    """Ask for the deletion whenever nothing is in progress, because SageMaker deletes no endpoint that changes."""
    cloudformation, attempts = clients("cloudformation"), 0
    while described := described_stack(name, clients):
        status = described["StackStatus"]
        if status == "UPDATE_IN_PROGRESS":
            with contextlib.suppress(ClientError):  # it is done by now, or cancelled already
                cloudformation.cancel_update_stack(StackName=name)
        elif (not status.endswith("IN_PROGRESS") or status in _DELETED_AT_ONCE) and not _is_busy(described, clients):
            if attempts == _ATTEMPTS:
                raise RemovalError(f"{status} after {attempts} attempts: {described.get('StackStatusReason', '')}")
            attempts += 1
            cloudformation.delete_stack(StackName=name)
        time.sleep(look_interval)


def _is_busy(described: dict[str, Any], clients: Clients) -> bool:
    return described["StackStatus"] != "REVIEW_IN_PROGRESS" and is_hosting_busy(DeployedStack(described, clients))


def made_beside(clients: Clients) -> Iterator[tuple[str, Callable[[], object]]]:
    """What exists beside the stacks, by the beginning of its name, and how to remove it.

    Questions made it; or AWS made a log group again, without tags, for lines that came after the stack's end.
    """
    sagemaker, iam, s3, logs = clients("sagemaker"), clients("iam"), clients("s3"), clients("logs")
    for page in sagemaker.get_paginator("list_endpoint_configs").paginate(NameContains=MADE):
        for each in page["EndpointConfigs"]:
            name = each["EndpointConfigName"]
            yield f"configuration {name}", partial(sagemaker.delete_endpoint_config, EndpointConfigName=name)
    for page in sagemaker.get_paginator("list_models").paginate(NameContains=MADE):
        for each in page["Models"]:
            name = each["ModelName"]
            yield f"model {name}", partial(sagemaker.delete_model, ModelName=name)
    for page in iam.get_paginator("list_roles").paginate():
        for name in (each["RoleName"] for each in page["Roles"] if each["RoleName"].startswith(MADE)):
            yield f"role {name}", partial(remove_role, name, iam)
    for name in (each["Name"] for each in s3.list_buckets()["Buckets"] if each["Name"].startswith(MADE)):
        yield f"bucket {name}", partial(remove_bucket, name, s3)
    for page in logs.get_paginator("describe_log_groups").paginate():
        for name in (each["logGroupName"] for each in page["logGroups"]):
            # /aws/sagemaker/Endpoints/slipway-smoke-1234abcd, /aws/lambda/slipway-smoke-Api..., slipway-smoke-Api...
            if name.rpartition("/")[2].startswith(RESERVED):
                yield f"log group {name}", partial(logs.delete_log_group, logGroupName=name)


def remove_role(name: str, iam: Any) -> None:
    """Delete a role with its inline policies."""
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        iam.delete_role_policy(RoleName=name, PolicyName=policy)
    iam.delete_role(RoleName=name)


def make_bucket(name: str, s3: Any) -> None:
    """Make a bucket in the client's region; S3 takes no name for the oldest region."""
    region = s3.meta.region_name
    place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=name, **place)


def remove_bucket(name: str, s3: Any) -> None:
    """Delete a bucket with everything in it, unless it is gone."""
    try:
        _empty_bucket(name, s3)
    except s3.exceptions.NoSuchBucket:
        return
    s3.delete_bucket(Bucket=name)


def _empty_bucket(name: str, s3: Any) -> None:
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=name):
        for each in page.get("Uploads", []):
            s3.abort_multipart_upload(Bucket=name, Key=each["Key"], UploadId=each["UploadId"])
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
        for each in (*page.get("Versions", []), *page.get("DeleteMarkers", [])):
            s3.delete_object(Bucket=name, Key=each["Key"], VersionId=each["VersionId"])


def _tried(what: str, removal: Callable[[], object], say: Callable[[str], None]) -> None:
    """Remove one thing. A failure must not keep the others."""
    try:
        removal()
    except Exception as error:
        say(f"{what} is not removed: {error}")

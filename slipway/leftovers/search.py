"""Finds resources that outlive a deployment's stack or an update of it, by their tag, and describes each."""

import re
import sys
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting import CONTENT_TAG, DEPLOYMENT_TAG
from slipway.leftovers.hosting import RetainedHosting
from slipway.leftovers.machines import retained_disks, retained_machines
from slipway.leftovers.retained_resource import RetainedResource
from slipway.shared.aws_clients import Clients
from slipway.shared.sizes import size
from slipway.stack.deployed_stack import DeployedStack

_WAITING_DAYS = 30  # the longest wait before KMS deletes a key
_MOST_COUNTED = 100_000  # versions in a bucket; each call lists 1,000 of them
_TABLES = {"jobs": "table: jobs and short answers", "usage": "table: what keys have used"}
_UNKNOWN_TABLE = f"table: its tag {CONTENT_TAG} is missing, so what it holds is not known"
_GONE = ("ResourceNotFoundException", "NoSuchBucket", "404")
_ENDING_STATES = ("DELETING", "ARCHIVED")
_HOSTING = re.compile(r"arn:[^:]+:sagemaker:[^:]+:[^:]+:(inference-component|endpoint|endpoint-config|model)/")
_API_KEY = re.compile(r"arn:[^:]+:apigateway:[^:]+::/apikeys/")  # left over only if the stack is gone
_CIPHER_KEY = re.compile(r"arn:[^:]+:kms:[^:]+:[^:]+:key/")
_KEY = re.compile(f"{_API_KEY.pattern}|{_CIPHER_KEY.pattern}")
_OF_EC2 = re.compile(r"arn:[^:]+:ec2:[^:]+:[^:]+:(instance|volume)/")  # only EC2 tells which of them still exist

_Tagged = dict[str, dict[str, str]]  # tags by ARN


class RemovalError(Exception):
    """A resource was not removed; the message is one sentence."""


def find(deployment: str, clients: Clients) -> tuple[list[RetainedResource], list[str]]:
    """Find the tagged resources of a deployment that has no stack, and the tagged ARNs of an unknown kind.

    Resources that run, and so cost money, come first.
    """
    arns = _tagged(deployment, clients("resourcegroupstaggingapi"))
    hosting, ec2 = [arn for arn in arns if _HOSTING.match(arn)], clients("ec2")
    running = list(RetainedHosting(hosting, clients("sagemaker")).all()) if hosting else []
    running += [*retained_machines(deployment, ec2), *retained_disks(deployment, ec2)]
    stored, unknown = _stored(
        {arn: tags for arn, tags in arns.items() if arn not in hosting and not _KEY.match(arn)}, clients
    )
    keys = (_api_key(arn.rpartition("/")[2], clients("apigateway")) for arn in arns if _API_KEY.match(arn))
    # Keys of KMS come last: what they encrypt could not be read without them.
    ciphers = (_cipher_key(arn, clients("kms")) for arn in arns if _CIPHER_KEY.match(arn))
    return running + stored + [key for found in (*keys, *ciphers) for key in found], unknown


def find_left(stack: DeployedStack) -> list[RetainedResource]:
    """Unused resources that earlier stacks of the name, or updates of the present one, left behind.

    No update may be under way. Endpoints and machines are not included, and neither are keys of KMS: objects in a
    bucket keep the key that they were written with. Raises BusyEndpointError.
    """
    clients = stack.clients
    arns, in_stack = _tagged(stack.name, clients("resourcegroupstaggingapi")), _in_stack(stack)
    hosting = [arn for arn in arns if _HOSTING.match(arn)]
    unused = list(RetainedHosting(hosting, clients("sagemaker")).unused(in_stack)) if hosting else []
    # Only leftovers are described, because counting the versions in a live bucket takes minutes.
    kept = {*hosting, *(arn for arn in arns if _CIPHER_KEY.match(arn))}
    left = {arn: tags for arn, tags in arns.items() if arn not in kept and _name_in(arn) not in in_stack}
    stored, _ = _stored(left, clients)
    return [*unused, *retained_disks(stack.name, clients("ec2")), *stored]


def _stored(tagged: _Tagged, clients: Clients) -> tuple[list[RetainedResource], list[str]]:
    """Describe buckets, tables and log groups, and list the ARNs of an unknown kind."""
    known: list[RetainedResource] = []
    unknown = []
    for arn, tags in tagged.items():
        service, name = arn.split(":", 5)[2], arn.split(":", 5)[5]
        try:
            if service == "s3":
                known.append(_bucket(name, clients("s3")))
            elif service == "dynamodb" and name.startswith("table/"):
                known += _table(name.removeprefix("table/"), tags.get(CONTENT_TAG, ""), clients("dynamodb"))
            elif service == "logs" and name.startswith("log-group:"):
                known += _log_group(name.removeprefix("log-group:").removesuffix(":*"), clients("logs"))
            else:
                unknown.append(arn)
        except ClientError as error:
            # The tagging API lists a resource for some time after its deletion.
            if error.response["Error"]["Code"] not in _GONE:
                raise
    return known, unknown


def _name_in(arn: str) -> str:
    """Return the name in lower case; of a log group the whole, because its end may be the name of an endpoint."""
    whole = arn.removesuffix(":*").lower()
    return whole.partition(":log-group:")[2] or re.split("[:/]", whole)[-1]


def _in_stack(stack: DeployedStack) -> set[str]:
    """Return the names of the stack's resources, in lower case, and the ends of those that are paths."""
    pages = stack.clients("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.stack_name)
    ids = (each.get("PhysicalResourceId", "") for page in pages for each in page["StackResourceSummaries"])
    return {name for each in ids for name in (each.lower(), each.rpartition("/")[2].lower())}


def _tagged(deployment: str, tagging: Any) -> _Tagged:
    request = {"TagFilters": [{"Key": DEPLOYMENT_TAG, "Values": [deployment]}]}
    pages = tagging.get_paginator("get_resources").paginate(**request)
    found = {each["ResourceARN"]: each for page in pages for each in page["ResourceTagMappingList"]}
    return {
        arn: {tag["Key"]: tag["Value"] for tag in found[arn].get("Tags", [])}
        for arn in sorted(found)
        if not _OF_EC2.match(arn)
    }


def _table(name: str, content: str, dynamodb: Any) -> list[RetainedResource]:
    table = dynamodb.describe_table(TableName=name)["Table"]
    if table["TableStatus"] in _ENDING_STATES:
        return []
    protected = None
    if table.get("DeletionProtectionEnabled"):
        protected = f"aws dynamodb update-table --no-deletion-protection-enabled --table-name {name}"
    # DynamoDB updates the count every six hours or so.
    holds = f"about {table['ItemCount']:,} items, {size(table['TableSizeBytes'])}"
    return [
        RetainedResource(
            _TABLES.get(content, _UNKNOWN_TABLE), name, holds, lambda: dynamodb.delete_table(TableName=name), protected
        )
    ]


def _api_key(key_id: str, gateway: Any) -> list[RetainedResource]:
    try:
        name = gateway.get_api_key(apiKey=key_id)["name"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NotFoundException":  # a revoked key stays listed for a while
            raise
        return []
    holds = "opens nothing without its stack"
    return [RetainedResource("API key", name, holds, lambda: gateway.delete_api_key(apiKey=key_id))]


def _cipher_key(arn: str, kms: Any) -> list[RetainedResource]:
    key = kms.describe_key(KeyId=arn)["KeyMetadata"]
    if key["KeyState"] == "PendingDeletion":
        return []
    holds = f"{key['Description']}; it can be restored for {_WAITING_DAYS} days after this"

    def remove() -> None:
        kms.schedule_key_deletion(KeyId=arn, PendingWindowInDays=_WAITING_DAYS)

    return [RetainedResource("KMS key", key["KeyId"], holds, remove)]


def _log_group(name: str, logs: Any) -> list[RetainedResource]:
    groups = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return [
        RetainedResource(
            "log group",
            name,
            size(group["storedBytes"]),
            lambda: logs.delete_log_group(logGroupName=name),
        )
        for group in groups
        if group["logGroupName"] == name
    ]


def _bucket(name: str, s3: Any) -> RetainedResource:
    versions, held = 0, 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
        versions += len(page.get("Versions", [])) + len(page.get("DeleteMarkers", []))
        held += sum(version["Size"] for version in page.get("Versions", []))
        if versions > _MOST_COUNTED:
            break
    uploads = sum(1 for _ in _uploads(name, s3))
    more = "more than " if versions > _MOST_COUNTED else ""
    holds = f"{more}{versions:,} versions of objects, {size(held)}"
    if uploads:
        holds += f", {uploads:,} unfinished uploads"
    return RetainedResource("bucket: inputs and outputs", name, holds, lambda: _remove_bucket(name, s3))


def _remove_bucket(name: str, s3: Any) -> None:
    removed = 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
        versions = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        if not versions:
            continue
        objects = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]
        answer = s3.delete_objects(Bucket=name, Delete={"Objects": objects, "Quiet": True})
        if errors := answer.get("Errors"):
            raise RemovalError(f"{errors[0]['Key']} in {name} was not removed: {errors[0]['Code']}.")
        removed += len(objects)
        if sys.stderr.isatty():
            print(f"\r{removed:,} versions removed", end="\r\033[K", file=sys.stderr, flush=True)
    for upload in _uploads(name, s3):
        s3.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
    s3.delete_bucket(Bucket=name)


def _uploads(bucket: str, s3: Any) -> Iterator[dict[str, Any]]:
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket):
        yield from page.get("Uploads", [])

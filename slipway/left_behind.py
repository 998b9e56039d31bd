"""What the destroy of a deployment leaves on AWS: found by its tag, described, and removed one by one."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting import DEPLOYMENT_TAG
from slipway.sizes import size

Clients = Callable[[str], Any]  # a boto3 client by the name of its service

_MOST_COUNTED = 100_000  # a bucket is listed in pages of 1,000
_GONE = ("ResourceNotFoundException", "NoSuchBucket", "404")
_STATES_OF_THE_END = ("DELETING", "ARCHIVED")


class RemovalError(Exception):
    """A resource is still there; the message is one sentence."""


@dataclass(frozen=True)
class Remainder:
    """One resource, what it holds, and how it is removed. `protected` says how to lift what protects it."""

    kind: str
    name: str
    holds: str
    remove: Callable[[], None]
    protected: str | None = None


def find(deployment: str, clients: Clients) -> tuple[list[Remainder], list[str]]:
    """What carries the deployment's tag, and the ARNs among it that are of no kind known here."""
    known, strange = [], []
    for arn in sorted(_tagged(deployment, clients("resourcegroupstaggingapi"))):
        service, name = arn.split(":", 5)[2], arn.split(":", 5)[5]
        try:
            if service == "s3":
                known.append(_bucket(name, clients("s3")))
            elif service == "dynamodb" and name.startswith("table/"):
                known += _table(name.removeprefix("table/"), clients("dynamodb"))
            elif service == "logs" and name.startswith("log-group:"):
                known += _log_group(name.removeprefix("log-group:").removesuffix(":*"), clients("logs"))
            else:
                strange.append(arn)
        except ClientError as error:
            # Tags can be found for some time after what they were on.
            if error.response["Error"]["Code"] not in _GONE:
                raise
    return known, strange


def _tagged(deployment: str, tagging: Any) -> Iterator[str]:
    request = {"TagFilters": [{"Key": DEPLOYMENT_TAG, "Values": [deployment]}]}
    for page in tagging.get_paginator("get_resources").paginate(**request):
        yield from (each["ResourceARN"] for each in page["ResourceTagMappingList"])


def _table(name: str, dynamodb: Any) -> list[Remainder]:
    table = dynamodb.describe_table(TableName=name)["Table"]
    if table["TableStatus"] in _STATES_OF_THE_END:
        return []
    protected = None
    if table.get("DeletionProtectionEnabled"):
        protected = f"aws dynamodb update-table --no-deletion-protection-enabled --table-name {name}"
    # DynamoDB counts every six hours or so.
    holds = f"about {table['ItemCount']:,} items, {size(table['TableSizeBytes'])}"
    return [
        Remainder(
            "table: jobs and short answers", name, holds, lambda: dynamodb.delete_table(TableName=name), protected
        )
    ]


def _log_group(name: str, logs: Any) -> list[Remainder]:
    groups = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return [
        Remainder(
            "log group: what the model printed",
            name,
            size(group["storedBytes"]),
            lambda: logs.delete_log_group(logGroupName=name),
        )
        for group in groups
        if group["logGroupName"] == name
    ]


def _bucket(name: str, s3: Any) -> Remainder:
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
    return Remainder("bucket: inputs and outputs", name, holds, lambda: _remove_bucket(name, s3))


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

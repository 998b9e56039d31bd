"""What SageMaker does with a model's execution role before a container runs: look at its rights, pull, fetch."""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.emulator import role_hooks
from local_cloud.emulator.model_containers import StartError

_IMAGE = re.compile(
    r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9._/-]+)(?::[\w.-]+|@sha256:\w+)"
)
_PULL_ACTIONS = ("BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer")


class _UnusablePrefixError(Exception):
    """Objects below a prefix that do not make a model's folder."""


def image_is_in_ecr(image: str) -> bool:
    return _IMAGE.fullmatch(image) is not None


def repository_of(image: str) -> str:
    match = _IMAGE.fullmatch(image)
    return match[3] if match else image


def pull_image(role_arn: str, image: str) -> None:
    """Raise StartError unless the role may pull the image from its repository."""
    match = _IMAGE.fullmatch(image)
    assert match is not None
    account, region, repository = match.groups()
    wanted = [(action, f"arn:aws:ecr:{region}:{account}:repository/{repository}") for action in _PULL_ACTIONS]
    for action, resource in [("GetAuthorizationToken", "*"), *wanted]:
        if not role_hooks.role_may(role_arn, f"ecr:{action}", resource):
            raise StartError(f"The role '{role_arn}' does not have {action} permission for the image: '{image}'.")


def demand_publishing(role_arn: str, asynchronous: dict[str, Any]) -> None:
    """Raise StartError unless the role may publish to the topics of an AsyncInferenceConfig."""
    notifications = asynchronous.get("OutputConfig", {}).get("NotificationConfig") or {}
    for topic in (notifications.get("SuccessTopic"), notifications.get("ErrorTopic")):
        if topic and not role_hooks.role_may(role_arn, "sns:Publish", topic):
            raise StartError(
                f"The provided role '{role_arn}' is invalid. Please ensure the role exists, that its trust "
                'relationship policy allows the action "sts:AssumeRole" for the service principal '
                f'"sagemaker.amazonaws.com", and has "sns:Publish" permissions for topic "{topic}".'
            )


def fetch_model_data(role_arn: str, container: dict[str, Any]) -> Path | None:
    """Download the container's weights as the role, None when it has none; raises StartError."""
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    if not source:
        return None
    bucket, _, prefix = source["S3Uri"].removeprefix("s3://").partition("/")
    folder = Path(tempfile.mkdtemp(prefix="slipway-model-"))
    try:
        with contextlib.closing(role_hooks.client_as_role("s3", role_arn)) as s3:
            _download(s3, bucket, prefix, folder)
    except (ClientError, _UnusablePrefixError) as error:
        shutil.rmtree(folder)
        reason = error.response["Error"]["Code"] if isinstance(error, ClientError) else str(error)
        raise StartError(_not_downloaded(source["S3Uri"], reason)) from error
    return folder


def _download(s3: Any, bucket: str, prefix: str, folder: Path) -> None:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    if not keys:
        raise _UnusablePrefixError("no object has this prefix")
    for key in keys:
        target = (folder / key.removeprefix(prefix)).resolve()
        if key.endswith("/") or not target.is_relative_to(folder.resolve()):
            raise _UnusablePrefixError(f"the object {key} is not a file below the prefix")
        target.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, key, str(target))


def _not_downloaded(uri: str, reason: str) -> str:
    return (
        f'Failed to download model data for container "container_1" from URL: "{uri}". Please ensure that there is an '
        "object located at the URL and that the role passed to CreateModel has permissions to download the object. "
        f"({reason})"
    )

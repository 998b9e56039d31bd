"""S3: a bucket with objects is not deleted, and a missing object is forbidden to those who may not list the bucket."""

import re
from typing import Any
from urllib.parse import unquote

from local_cloud.emulator import ministack
from local_cloud.emulator.cloudformation import extend_resource_type, tag_with_stack

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_iam_actions = ministack.internals("ministack.core.iam_actions", "access_denied_response")
_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "AuthError", "enforce")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_s3 = ministack.internals("ministack.services.s3", "_bucket_has_versions", "_bucket_tags", "_buckets.get")


def _hide_missing_objects() -> None:
    original = _app.SERVICE_HANDLERS["s3"]

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> ministack.Answer:
        answer: ministack.Answer = await original(method, path, headers, body, query)
        match = re.match(r"/([^/]+)/.", path)
        if answer[0] != 404 or method not in ("GET", "HEAD") or not match or "versionId" in query:
            return answer
        bucket = unquote(match[1])
        return answer if _s3._buckets.get(bucket) is None else _refusal_to_list(bucket, headers, query) or answer

    _app.SERVICE_HANDLERS["s3"] = handle


def _refusal_to_list(bucket: str, headers: dict[str, str], query: dict[str, Any]) -> ministack.Answer | None:
    """The answer to a caller who may not list the bucket, None for one who may."""
    arn = f"arn:aws:s3:::{bucket}"
    key = _router.extract_access_key_id(headers, query)
    denied = _iam_evaluator.enforce(key, "s3:ListBucket", "s3", ministack.region(), resource_arn=arn)
    if denied is None or isinstance(denied, _iam_evaluator.AuthError):
        return None
    refusal: ministack.Answer = _iam_actions.access_denied_response(
        "s3", "s3:ListBucket", denied.principal_arn, "-", headers=headers, resource_arn=arn
    )
    return refusal


def _set_tags(bucket: str, properties: dict[str, Any]) -> None:
    _s3._bucket_tags[bucket] = {tag["Key"]: tag["Value"] for tag in properties.get("Tags") or []}


def _refuse_full(bucket: str) -> None:
    if (_s3._buckets.get(bucket) or {}).get("objects") or _s3._bucket_has_versions(bucket):
        raise ValueError(
            f"The bucket you tried to delete is not empty. You must delete all versions in the bucket. ({bucket})"
        )


def install() -> None:
    _hide_missing_objects()
    tag_with_stack("AWS::S3::Bucket")
    extend_resource_type("AWS::S3::Bucket", complete=_set_tags, check_delete=_refuse_full)

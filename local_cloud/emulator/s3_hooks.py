"""The hooks into the emulator's S3: settings of a bucket, and objects that are not there."""

import re
from typing import Any
from urllib.parse import unquote

from local_cloud.emulator import hooks

_app = hooks.internals("ministack.app", "SERVICE_HANDLERS")
_iam_actions = hooks.internals("ministack.core.iam_actions", "access_denied_response")
_iam_evaluator = hooks.internals("ministack.core.iam_evaluator", "AuthError", "enforce")
_router = hooks.internals("ministack.core.router", "extract_access_key_id")
_s3 = hooks.internals(
    "ministack.services.s3",
    "_bucket_encryption",
    "_bucket_has_versions",
    "_bucket_lifecycle",
    "_bucket_tags",
    "_buckets.get",
    "_put_bucket_ownership_controls",
)

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def bucket_is_empty(name: str) -> bool:
    """Whether neither an object nor an old version nor a delete marker is left in it."""
    return not (_s3._buckets.get(name) or {}).get("objects") and not _s3._bucket_has_versions(name)


def set_tags(bucket: str, tags: dict[str, str]) -> None:
    _s3._bucket_tags[bucket] = tags


def set_lifecycle(bucket: str, rules: list[dict[str, Any]]) -> None:
    """The rules as GetBucketLifecycleConfiguration names their members; none removes the configuration."""
    if rules:
        _s3._bucket_lifecycle[bucket] = rules
    else:
        _s3._bucket_lifecycle.pop(bucket, None)


def set_encryption(bucket: str, algorithm: str, key: str, bucket_key: bool) -> None:
    key_element = f"<KMSMasterKeyID>{key}</KMSMasterKeyID>" if key else ""
    default = f"<SSEAlgorithm>{algorithm}</SSEAlgorithm>{key_element}"
    _s3._bucket_encryption[bucket] = (
        f'<ServerSideEncryptionConfiguration xmlns="{_NAMESPACE}"><Rule>'
        f"<ApplyServerSideEncryptionByDefault>{default}</ApplyServerSideEncryptionByDefault>"
        f"<BucketKeyEnabled>{str(bucket_key).lower()}</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>"
    )


def set_object_ownership(bucket: str, ownership: str) -> None:
    rule = f"<Rule><ObjectOwnership>{ownership}</ObjectOwnership></Rule>"
    _s3._put_bucket_ownership_controls(
        bucket, f'<OwnershipControls xmlns="{_NAMESPACE}">{rule}</OwnershipControls>'.encode()
    )


def hide_missing_objects() -> None:
    """Without s3:ListBucket, nobody learns that an object does not exist: the answer is 403, not 404."""
    original = _app.SERVICE_HANDLERS["s3"]

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> hooks.Answer:
        answer: hooks.Answer = await original(method, path, headers, body, query)
        match = re.match(r"/([^/]+)/.", path)
        if answer[0] != 404 or method not in ("GET", "HEAD") or not match or "versionId" in query:
            return answer
        bucket = unquote(match[1])
        if _s3._buckets.get(bucket) is None:
            return answer
        arn = f"arn:aws:s3:::{bucket}"
        key = _router.extract_access_key_id(headers, query)
        denied = _iam_evaluator.enforce(key, "s3:ListBucket", "s3", hooks.region(), resource_arn=arn)
        if denied is None or isinstance(denied, _iam_evaluator.AuthError):
            return answer
        refusal: hooks.Answer = _iam_actions.access_denied_response(
            "s3", "s3:ListBucket", denied.principal_arn, "-", headers=headers, resource_arn=arn
        )
        return refusal

    _app.SERVICE_HANDLERS["s3"] = handle

"""S3: full buckets stay, a missing object is a 403 without permission to list, versions have ranges, AWS has a key.

A part has a checksum only if its upload has announced one.
"""

import re
from typing import Any
from urllib.parse import unquote

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type, tag_with_stack
from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_iam_actions = ministack.internals("ministack.core.iam_actions", "access_denied_response")
_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "AuthError", "enforce")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_s3 = ministack.internals(
    "ministack.services.s3",
    "_bucket_encryption.get",
    "_bucket_has_versions",
    "_bucket_tags",
    "_buckets.get",
    "_error",
    "_multipart_uploads.get",
    "_parse_range",
    "_range_error_xml",
    "_resolve_sse_write_headers",
    "_xml_body",
)

_CHECKSUM = re.compile("x-amz-checksum-(crc32c?|crc64nvme|sha1|sha256)", re.IGNORECASE)


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


def _cut_versions() -> None:
    """Apply a Range header to a version, too: MiniStack answers with the whole version."""
    original = _app.SERVICE_HANDLERS["s3"]

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> ministack.Answer:
        answer: ministack.Answer = await original(method, path, headers, body, query)
        wanted = headers.get("range")
        return _part_of(answer, wanted, path) if wanted and answer[0] == 200 and "versionId" in query else answer

    _app.SERVICE_HANDLERS["s3"] = handle


def _refuse_unannounced_checksums() -> None:
    """Refuse a part with a checksum of a kind that its upload did not announce, in S3's own words."""
    original = _app.SERVICE_HANDLERS["s3"]

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> ministack.Answer:
        upload = _s3._multipart_uploads.get("".join(query.get("uploadId", ""))) if method == "PUT" else None
        kinds = [match[1].lower() for name in headers if (match := _CHECKSUM.fullmatch(name))]
        if upload and kinds and not upload.get("checksum_algorithm"):
            said = f"Checksum Type mismatch occurred, expected checksum Type: null, actual checksum Type: {kinds[0]}"
            refusal: ministack.Answer = _s3._error("InvalidRequest", said, 400)
            return refusal
        answer: ministack.Answer = await original(method, path, headers, body, query)
        return answer

    _app.SERVICE_HANDLERS["s3"] = handle


def _part_of(answer: ministack.Answer, wanted: str, path: str) -> ministack.Answer:
    _, headers, body = answer
    found = _s3._parse_range(wanted, len(body))
    if found is None:
        bucket, _, key = unquote(path).removeprefix("/").partition("/")
        return 416, {"Content-Type": "application/xml"}, _s3._xml_body(_s3._range_error_xml(bucket, key))
    start, end = found
    # The checksum of the whole object does not apply to a part.
    kept = {name: value for name, value in headers.items() if not name.lower().startswith("x-amz-checksum-")}
    place = {"Content-Length": str(end + 1 - start), "Content-Range": f"bytes {start}-{end}/{len(body)}"}
    return 206, kept | place, body[start : end + 1]


def _refusal_to_list(bucket: str, headers: dict[str, str], query: dict[str, Any]) -> ministack.Answer | None:
    """The refusal for a caller who may not list the bucket, otherwise None."""
    arn = f"arn:aws:s3:::{bucket}"
    key = _router.extract_access_key_id(headers, query)
    denied = _iam_evaluator.enforce(key, "s3:ListBucket", "s3", ministack.region(), resource_arn=arn)
    if denied is None or isinstance(denied, _iam_evaluator.AuthError):
        return None
    refusal: ministack.Answer = _iam_actions.access_denied_response(
        "s3", "s3:ListBucket", denied.principal_arn, "-", headers=headers, resource_arn=arn
    )
    return refusal


def _complete(bucket: str, properties: dict[str, Any]) -> None:
    """Set the tags and the default encryption, which MiniStack leaves out."""
    rules = (properties.get("BucketEncryption") or {}).get("ServerSideEncryptionConfiguration", [])
    members = [(each["ServerSideEncryptionByDefault"], each.get("BucketKeyEnabled", False)) for each in rules]
    written = "".join(
        f"<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>{default['SSEAlgorithm']}</SSEAlgorithm>"
        f"<KMSMasterKeyID>{default.get('KMSMasterKeyID', '')}</KMSMasterKeyID></ApplyServerSideEncryptionByDefault>"
        f"<BucketKeyEnabled>{str(has_bucket_key).lower()}</BucketKeyEnabled></Rule>"
        for default, has_bucket_key in members
    )
    whole = f"<ServerSideEncryptionConfiguration>{written}</ServerSideEncryptionConfiguration>"
    _s3._bucket_encryption[bucket] = whole if written else None
    _s3._bucket_tags[bucket] = {tag["Key"]: tag["Value"] for tag in properties.get("Tags") or []}


def _refuse_full(bucket: str) -> None:
    if (_s3._buckets.get(bucket) or {}).get("objects") or _s3._bucket_has_versions(bucket):
        raise ValueError(
            f"The bucket you tried to delete is not empty. You must delete all versions in the bucket. ({bucket})"
        )


def _encrypt_by_aws() -> None:
    """Take `aws:kms` without a key, as the CDK's bootstrap bucket does: everybody in the account may use AWS's key."""
    original = _s3._resolve_sse_write_headers
    algorithm = "x-amz-server-side-encryption"

    def resolve(headers: dict[str, str], bucket: str) -> Any:
        if headers.get(algorithm) == "aws:kms" and not headers.get(f"{algorithm}-aws-kms-key-id"):
            return {algorithm: "aws:kms"}, None
        return original(headers, bucket)

    _s3._resolve_sse_write_headers = resolve


def install() -> None:
    _encrypt_by_aws()
    _hide_missing_objects()
    _cut_versions()
    _refuse_unannounced_checksums()
    tag_with_stack("AWS::S3::Bucket")
    extend_resource_type("AWS::S3::Bucket", complete=_complete, check_delete=_refuse_full)

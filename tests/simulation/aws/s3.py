"""S3 with versions: nothing written is ever lost by writing it again."""

import io
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import md5
from random import Random
from typing import Any, NamedTuple

from botocore.response import StreamingBody

from simulation.aws.errors import Refusal
from simulation.scheduler import Scheduler


class Version(NamedTuple):
    """One version of an object; `etag` with its quotes, as S3 gives it."""

    version_id: str
    etag: str
    body: bytes
    content_type: str
    written_at: float


@dataclass
class Bucket:
    """One private, versioned bucket. The operations are the client's methods."""

    name: str
    scheduler: Scheduler
    random: Random
    objects: dict[str, list[Version]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sorted: list[str] = []

    def write(self, key: str, body: bytes, content_type: str = "binary/octet-stream") -> Version:
        etag = f'"{md5(body, usedforsecurity=False).hexdigest()}"'
        version = Version(f"{self.random.getrandbits(96):024x}", etag, body, content_type, self.scheduler.now)
        if key not in self.objects:
            self.objects[key] = []
            insort(self._sorted, key)
        self.objects[key].append(version)
        return version

    def put_object(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        if request.get("IfNoneMatch") == "*" and request["Key"] in self.objects:
            raise Refusal("PreconditionFailed", "At least one of the pre-conditions did not hold", 412)
        version = self.write(request["Key"], bytes(request["Body"]), request.get("ContentType", "binary/octet-stream"))
        return {"ETag": version.etag, "VersionId": version.version_id}

    def get_object(self, **request: Any) -> dict[str, Any]:
        version = self._find(request, "NoSuchKey", "The specified key does not exist.")
        return self._head(version) | {"Body": StreamingBody(io.BytesIO(version.body), len(version.body))}

    def head_object(self, **request: Any) -> dict[str, Any]:
        # The answer to HEAD has no body, so botocore has only the status to go by.
        return self._head(self._find(request, "404", "Not Found"))

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        prefix, most = request.get("Prefix", ""), request.get("MaxKeys", 1000)
        start = request.get("ContinuationToken") or request.get("StartAfter") or ""
        keys = self.keys(prefix, after=start)
        contents = [
            {"Key": key, "ETag": version.etag, "Size": len(version.body), "StorageClass": "STANDARD"}
            for key in keys[:most]
            for version in self.objects[key][-1:]
        ]
        page = {"IsTruncated": len(keys) > most, "KeyCount": len(contents), "Prefix": prefix, "MaxKeys": most}
        if contents:  # the member is missing when there are none
            page["Contents"] = contents
        return page | ({"NextContinuationToken": keys[most - 1]} if page["IsTruncated"] else {})

    def keys(self, prefix: str, after: str = "") -> list[str]:
        """In order, those behind `after`."""
        first = max(bisect_left(self._sorted, prefix), bisect_right(self._sorted, after))
        return self._sorted[first : bisect_left(self._sorted, prefix + chr(0x10FFFF))]

    def presigned_url(self, request: dict[str, Any], expires_in: int) -> str:
        self._check(request)
        version = f"&versionId={request['VersionId']}" if "VersionId" in request else ""
        key = request["Key"]
        return f"https://{self.name}.s3.amazonaws.com/{key}?X-Amz-Expires={expires_in}{version}"

    def _find(self, request: dict[str, Any], code: str, message: str) -> Version:
        self._check(request)
        versions = self.objects.get(request["Key"], [])
        wanted = request.get("VersionId")
        if wanted:
            versions = [version for version in versions if version.version_id == wanted]
            if not versions and code == "NoSuchKey":
                raise Refusal("NoSuchVersion", "The specified version does not exist.", 404)
        if not versions:
            raise Refusal(code, message, 404)
        version = versions[-1]
        if request.get("IfMatch", version.etag).strip('"') != version.etag.strip('"'):
            raise Refusal("PreconditionFailed", "At least one of the pre-conditions did not hold", 412)
        return version

    def _head(self, version: Version) -> dict[str, Any]:
        return {
            "ETag": version.etag,
            "VersionId": version.version_id,
            "ContentLength": len(version.body),
            "ContentType": version.content_type,
            "LastModified": datetime.fromtimestamp(version.written_at, UTC),
        }

    def _check(self, request: dict[str, Any]) -> None:
        if request["Bucket"] != self.name:
            raise Refusal("NoSuchBucket", "The specified bucket does not exist", 404)

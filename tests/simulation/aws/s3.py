"""S3: a versioned bucket."""

import io
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from hashlib import md5
from random import Random
from typing import Any, NamedTuple

from botocore.response import StreamingBody

from simulation.aws.errors import Refusal
from simulation.scheduler import Scheduler

_MOST_KEYS = 1000


class Version(NamedTuple):
    """One version of an object; etag has quotes, as in S3."""

    version_id: str
    etag: str
    body: bytes
    content_type: str
    written_at: float


@dataclass
class Bucket:
    """objects: versions by key, the oldest first."""

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
        version = self.write(request["Key"], bytes(request["Body"]), request.get("ContentType", "binary/octet-stream"))
        return {"ETag": version.etag, "VersionId": version.version_id}

    def get_object(self, **request: Any) -> dict[str, Any]:
        version = self._find(request)
        body = StreamingBody(io.BytesIO(version.body), len(version.body))
        described = {"ETag": version.etag, "VersionId": version.version_id, "ContentLength": len(version.body)}
        return described | {"ContentType": version.content_type, "Body": body}

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        contents = [{"Key": key} for key in self.keys(request["Prefix"])[:_MOST_KEYS]]
        return {"Contents": contents} if contents else {}  # no member for an empty list

    def keys(self, prefix: str) -> list[str]:
        """The keys with a prefix, in order."""
        return self._sorted[bisect_left(self._sorted, prefix) : bisect_left(self._sorted, prefix + chr(0x10FFFF))]

    def presigned_url(self, request: dict[str, Any], expires_in: int) -> str:
        self._check(request)
        version = f"&versionId={request['VersionId']}" if "VersionId" in request else ""
        key = request["Key"]
        return f"https://{self.name}.s3.amazonaws.com/{key}?X-Amz-Expires={expires_in}{version}"

    def _find(self, request: dict[str, Any]) -> Version:
        self._check(request)
        versions = self.objects.get(request["Key"], [])
        if not versions:
            raise Refusal("NoSuchKey", "The specified key does not exist.", 404)
        wanted = request.get("VersionId", versions[-1].version_id)
        found = next((version for version in versions if version.version_id == wanted), None)
        if found is None:
            raise Refusal("NoSuchVersion", "The specified version does not exist.", 404)
        return found

    def _check(self, request: dict[str, Any]) -> None:
        if request["Bucket"] != self.name:
            raise Refusal("NoSuchBucket", "The specified bucket does not exist", 404)

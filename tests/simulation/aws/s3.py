"""S3: a versioned bucket."""

import io
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from hashlib import md5
from random import Random
from typing import Any, NamedTuple

from botocore.response import StreamingBody

from simulation.aws.errors import Refusal
from simulation.runtime.scheduler import Scheduler

_MOST_KEYS = 1000
_MOST_PARTS_OF_A_PAGE = 2  # S3: 1000
_LEAST_PART_BYTES = 5 * 1024 * 1024


class Version(NamedTuple):
    """One version of an object; etag has quotes, as in S3."""

    version_id: str
    etag: str
    body: bytes
    content_type: str
    written_at: float


@dataclass
class Bucket:
    """A bucket. objects: versions by key, the oldest first. uploads: ETag and bytes of each part of open uploads."""

    name: str
    scheduler: Scheduler
    random: Random
    objects: dict[str, list[Version]] = field(default_factory=dict)
    uploads: dict[str, dict[int, tuple[str, bytes]]] = field(default_factory=dict)

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
        content = version.body
        if "Range" in request:
            first, last = map(int, request["Range"].removeprefix("bytes=").split("-"))
            content = content[first : last + 1]
        body = StreamingBody(io.BytesIO(content), len(content))
        described = {"ETag": version.etag, "VersionId": version.version_id, "ContentLength": len(content)}
        return described | {"ContentType": version.content_type, "Body": body}

    def create_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        upload = f"{self.random.getrandbits(96):024x}"
        self.uploads[upload] = {}
        return {"UploadId": upload}

    def upload_part(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        body = bytes(request["Body"])
        etag = f'"{md5(body, usedforsecurity=False).hexdigest()}"'
        self._upload(request)[request["PartNumber"]] = (etag, body)
        return {"ETag": etag}

    def list_parts(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        listed = [{"PartNumber": part, "ETag": etag} for part, (etag, _) in sorted(self._upload(request).items())]
        after = [part for part in listed if part["PartNumber"] > request.get("PartNumberMarker", 0)]
        page = after[:_MOST_PARTS_OF_A_PAGE]
        more = {"IsTruncated": len(after) > len(page), "NextPartNumberMarker": page[-1]["PartNumber"] if page else 0}
        return more | ({"Parts": page} if page else {})

    def complete_multipart_upload(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        parts = self._upload(request)
        wanted = [part["PartNumber"] for part in request["MultipartUpload"]["Parts"]]
        if wanted != sorted(wanted) or any(
            parts.get(part["PartNumber"], ("",))[0] != part["ETag"] for part in request["MultipartUpload"]["Parts"]
        ):
            raise Refusal("InvalidPart", "One or more of the specified parts could not be found.", 400)
        if any(len(parts[part][1]) < _LEAST_PART_BYTES for part in wanted[:-1]):
            raise Refusal("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", 400)
        del self.uploads[request["UploadId"]]
        version = self.write(request["Key"], b"".join(parts[part][1] for part in wanted))
        return {"ETag": version.etag, "VersionId": version.version_id}

    def _upload(self, request: dict[str, Any]) -> dict[int, tuple[str, bytes]]:
        if request["UploadId"] not in self.uploads:
            raise Refusal("NoSuchUpload", "The specified multipart upload does not exist.", 404)
        return self.uploads[request["UploadId"]]

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        self._check(request)
        contents = [{"Key": key} for key in self.keys(request["Prefix"])[:_MOST_KEYS]]
        return {"Contents": contents} if contents else {}  # no member for an empty list

    def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix, in order."""
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

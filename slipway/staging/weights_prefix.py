"""The S3 prefix of staged weights: objects, multipart uploads, and the manifest beside it."""

import base64
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import ParseError

from botocore.exceptions import ClientError
from pydantic import ValidationError

from slipway.staging.manifest import Manifest, StagedFile

_SMALLEST_PART_IN_BYTES = 16 * 1024 * 1024
_MOST_PARTS = 10_000


class PrefixError(Exception):
    """The prefix can't be used or holds unexpected objects; the message is one sentence."""


@dataclass(frozen=True)
class UploadedPart:
    """A part in S3, verified by S3 against its SHA-256."""

    etag: str
    checksum: str


class WeightsPrefix:
    """The prefix of one model's weights.

    weights: `s3://bucket/prefix/`. key_arn: the KMS key for new objects; None = the bucket's default. The manifest
    is at `.slipway/<prefix>manifest.json`, because SageMaker loads everything below the prefix. place, fix, read: as in
    `weights.source.Source`.
    """

    fix = "copy all files of the model again"

    def __init__(self, s3: Any, weights: str, key_arn: str | None) -> None:
        self._s3, self.weights, self.place = s3, weights, weights
        self.bucket, _, self._prefix = weights.removeprefix("s3://").partition("/")
        self._manifest_key = f".slipway/{self._prefix}manifest.json"
        self.manifest_uri = f"s3://{self.bucket}/{self._manifest_key}"
        self._encryption = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key_arn} if key_arn else {}

    def manifest(self) -> Manifest | None:
        """Read the manifest; None if nothing was staged here. Raises PrefixError."""
        # A caller with permission to list only this prefix gets 403, not 404, for a missing object.
        if not self._s3.list_objects_v2(Bucket=self.bucket, Prefix=self._manifest_key, MaxKeys=1).get("Contents"):
            return None
        body = self._s3.get_object(Bucket=self.bucket, Key=self._manifest_key)["Body"].read()
        try:
            return Manifest.model_validate_json(body)
        except ValidationError:
            raise PrefixError(f"{self.manifest_uri} is not a manifest that this version reads; move it away.") from None

    def put(self, uri: str, body: IO[bytes], content_type: str) -> bool:
        """Write an object of the same bucket, unless one is there already. Returns whether it is new."""
        request = {"Bucket": self.bucket, "Key": uri.removeprefix(f"s3://{self.bucket}/"), "ContentType": content_type}
        try:
            self._s3.put_object(**request, Body=body, IfNoneMatch="*", ChecksumAlgorithm="SHA256", **self._encryption)
        except ClientError as error:
            if _code(error) not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
            return False
        return True

    def holds(self, uri: str) -> bool:
        """Whether the same bucket has an object."""
        key = uri.removeprefix(f"s3://{self.bucket}/")
        # A caller without permission to list gets 403 from HeadObject, not 404.
        listed = self._s3.list_objects_v2(Bucket=self.bucket, Prefix=key, MaxKeys=1).get("Contents", [])
        return any(each["Key"] == key for each in listed)

    def open(self, uri: str) -> IO[bytes]:
        """Return the content of an object of the same bucket."""
        body: IO[bytes] = self._s3.get_object(Bucket=self.bucket, Key=uri.removeprefix(f"s3://{self.bucket}/"))["Body"]
        return body

    def write(self, manifest: Manifest, *, first: bool = False) -> None:
        """Write the manifest. first: raise PrefixError if one exists already."""
        condition = {"IfNoneMatch": "*"} if first else {}
        request = {"Bucket": self.bucket, "Key": self._manifest_key, "ContentType": "application/json"}
        try:
            self._s3.put_object(**request, Body=manifest.to_json(), **condition, **self._encryption)
        except ClientError as error:
            if _code(error) not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
            raise PrefixError(f"Somebody else has just begun to stage to {self.weights}: wait for that.") from None

    def forget(self) -> None:
        """Remove the manifest."""
        self._s3.delete_object(Bucket=self.bucket, Key=self._manifest_key)

    def objects(self) -> dict[str, int]:
        """Sizes of the visible objects in bytes, by path below the prefix."""
        return {path: each["Size"] for path, each in self.listed().items()}

    def listed(self) -> dict[str, dict[str, Any]]:
        """S3's `Size` and `ETag` of the visible objects, by path below the prefix."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self._prefix)
        listed = [each for page in pages for each in page.get("Contents", [])]
        return {each["Key"].removeprefix(self._prefix): each for each in listed}

    def read(self, path: str, start: int, size: int, /) -> bytes:
        """Read these bytes of an object, fewer at its end."""
        part = f"bytes={start}-{start + size - 1}"
        body: bytes = self._s3.get_object(Bucket=self.bucket, Key=self.key(path), Range=part)["Body"].read()
        return body

    def download(self, path: str, target: Path) -> None:
        """Write a whole object into a file."""
        with target.open("wb") as file:
            shutil.copyfileobj(self.open(f"{self.weights}{path}"), file)

    def key(self, path: str) -> str:
        """The object's key."""
        return self._prefix + path

    def start(self, path: str, size: int, hub_checksum: str) -> StagedFile:
        """Open a multipart upload for a file."""
        mebibyte = 1024 * 1024
        needed = -(-size // (_MOST_PARTS * mebibyte)) * mebibyte
        request = {"Bucket": self.bucket, "Key": self.key(path), "ChecksumAlgorithm": "SHA256"}
        upload = self._s3.create_multipart_upload(**request, **self._encryption)
        return StagedFile(
            path=path,
            size=size,
            hub_checksum=hub_checksum,
            part_size=max(_SMALLEST_PART_IN_BYTES, needed),
            upload_id=upload["UploadId"],
        )

    def parts(self, file: StagedFile) -> dict[int, UploadedPart] | None:
        """The parts in S3 by number; None if the upload is completed, or aborted by a lifecycle rule."""
        found: dict[int, UploadedPart] = {}
        try:
            for page in self._s3.get_paginator("list_parts").paginate(**self._upload(file)):
                for each in page.get("Parts", []):
                    number, is_sound = each["PartNumber"], "ChecksumSHA256" in each
                    if number <= file.part_count and each["Size"] == file.part(number)[1] and is_sound:
                        found[number] = UploadedPart(each["ETag"], each["ChecksumSHA256"])
        except ClientError as error:
            if _code(error) != "NoSuchUpload":
                raise
            return None
        return found

    def send(self, file: StagedFile, number: int, body: bytes) -> None:
        """Upload a part with its SHA-256, which S3 verifies."""
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        self._s3.upload_part(**self._upload(file), PartNumber=number, Body=body, ChecksumSHA256=digest)

    def complete(self, file: StagedFile, parts: Mapping[int, UploadedPart]) -> None:
        """Make a file visible, unless it is already. Raises PrefixError if another object has its key."""
        if not parts:  # completed by another run
            self.demand(file)
            return
        listed = [
            {"PartNumber": number, "ETag": part.etag, "ChecksumSHA256": part.checksum}
            for number, part in sorted(parts.items())
        ]
        try:
            self._s3.complete_multipart_upload(
                **self._upload(file), MultipartUpload={"Parts": listed}, MpuObjectSize=file.size, IfNoneMatch="*"
            )
        except ClientError as error:
            # A retried request meets the effect of the first.
            if _code(error) not in ("PreconditionFailed", "NoSuchUpload"):
                raise
        self.demand(file)

    def demand(self, file: StagedFile) -> None:
        """Raise PrefixError unless the file is visible with the size and checksum that were sent."""
        request = {"Bucket": self.bucket, "Key": self.key(file.path), "ChecksumMode": "ENABLED"}
        try:
            head = self._s3.head_object(**request)
        except ClientError as error:
            if _code(error) not in ("404", "NoSuchKey"):
                raise
            head = {}
        if (head.get("ContentLength"), head.get("ChecksumSHA256")) != (file.size, file.s3_checksum):
            raise PrefixError(
                f"{self.weights}{file.path} is not what was staged: its size or its checksum in S3 is another; "
                "remove it and run the command again."
            )

    def abort(self, file: StagedFile) -> None:
        """Abort an upload, whose parts are billed. An upload that no longer exists is ignored."""
        try:
            self._s3.abort_multipart_upload(**self._upload(file))
        except ClientError as error:
            if _code(error) != "NoSuchUpload":
                raise

    def _upload(self, file: StagedFile) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.key(file.path), "UploadId": file.upload_id}


def bucket_region(s3: Any, bucket: str) -> str:
    """The bucket's region. Raises PrefixError if the bucket does not exist, or S3 gives no answer."""
    try:
        location = s3.get_bucket_location(Bucket=bucket)["LocationConstraint"]
    except ClientError as error:
        if _code(error) != "NoSuchBucket":
            raise
        raise PrefixError(f"model.weights: there is no bucket {bucket}; create it, or name another.") from None
    except ParseError:  # botocore reads this one answer by itself, before it looks at the status
        raise PrefixError(f"AWS could not be asked: S3 gave no answer on where {bucket} is; try again.") from None
    # S3 has special values for the two oldest regions.
    return str({None: "us-east-1", "EU": "eu-west-1"}.get(location, location))


def checksum_of_parts(parts: Sequence[UploadedPart]) -> str:
    """S3's checksum of a multipart object: the SHA-256 over the checksums of its parts, and their count."""
    digest = hashlib.sha256(b"".join(base64.b64decode(part.checksum) for part in parts)).digest()
    return f"{base64.b64encode(digest).decode()}-{len(parts)}"


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])

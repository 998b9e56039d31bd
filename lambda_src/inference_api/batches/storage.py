"""The objects of files and batches in the job bucket; a repeated step writes the same bytes again."""

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from inference_api.batches.batch import Batch, File

PART_BYTES = 8 * 1024 * 1024  # S3 takes parts of at least 5 MiB; only the last may be smaller
LINK_IN_SECONDS = 300

_CHUNK_BYTES = 256 * 1024


class Storage:
    """Reads and writes the objects of files and batches. Raises botocore's ClientError.

    Their keys are `file/<id>`, `batch/<id>/index`, and `batch/<id>/<block>/<kind>.<piece>` for results.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def put_file(self, file_id: str, body: bytes) -> tuple[str, str]:
        """Store a file and return its key and version. This comes before the file's row."""
        key = f"file/{file_id}"
        stored = self._client.put_object(Bucket=self._bucket, Key=key, Body=body, ContentType="application/jsonl")
        return key, stored.get("VersionId", "null")

    def find_version(self, key: str) -> str | None:
        """Return the version of a file that an earlier step may have stored; None if there is none."""
        try:
            return str(
                self._client.get_object(Bucket=self._bucket, Key=key, Range="bytes=0-0").get("VersionId", "null")
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return None
            raise

    def read_file(self, file: File) -> bytes:
        """Return the content of a file."""
        body: bytes = self._get(Key=file.key, VersionId=file.version_id)["Body"].read()
        return body

    def link(self, file: File) -> str:
        """Return a URL of the file that anybody can use for 5 minutes."""
        where = {"Bucket": self._bucket, "Key": file.key, "VersionId": file.version_id}
        # To be saved, not shown: a model's text must not run in a browser.
        where["ResponseContentDisposition"] = "attachment"
        url: str = self._client.generate_presigned_url("get_object", Params=where, ExpiresIn=LINK_IN_SECONDS)
        return url

    def stream_input(self, batch: Batch) -> Iterator[bytes]:
        """Yield the batch's input in chunks, so that memory is bounded whatever its size."""
        found = self._get(Key=batch.input_key, VersionId=batch.input_version)
        chunks: Iterator[bytes] = found["Body"].iter_chunks(_CHUNK_BYTES)
        return chunks

    def read_input(self, batch: Batch, offset: int, length: int) -> bytes:
        """Return a part of the batch's input."""
        span = f"bytes={offset}-{offset + length - 1}"
        body: bytes = self._get(Key=batch.input_key, VersionId=batch.input_version, Range=span)["Body"].read()
        return body

    def put_index(self, batch: Batch, blocks: list[tuple[int, int, int]]) -> None:
        """Store where blocks begin. This comes before the batch starts."""
        body = json.dumps(blocks, separators=(",", ":")).encode()
        self._client.put_object(Bucket=self._bucket, Key=f"batch/{batch.id}/index", Body=body)

    def read_index(self, batch: Batch) -> list[tuple[int, int, int]]:
        """Return the first line of each block, its offset and its length in bytes."""
        return [tuple(each) for each in json.loads(self._get(Key=f"batch/{batch.id}/index")["Body"].read())]

    def put_piece(self, batch: Batch, block: int, kind: str, piece: int, body: bytes) -> None:
        """Store a piece of a block's results."""
        key = _piece_key(batch, block, kind, piece)
        self._client.put_object(Bucket=self._bucket, Key=key, Body=body)

    def read_piece(self, batch: Batch, block: int, kind: str, piece: int, start: int, end: int) -> bytes:
        """Return the piece's bytes from `start` to before `end`."""
        key = _piece_key(batch, block, kind, piece)
        body: bytes = self._get(Key=key, Range=f"bytes={start}-{end - 1}")["Body"].read()
        return body

    def begin_upload(self, key: str) -> str:
        """Begin a multipart upload. Return its id."""
        upload: str = self._client.create_multipart_upload(
            Bucket=self._bucket, Key=key, ContentType="application/jsonl"
        )["UploadId"]
        return upload

    def put_part(self, key: str, upload: str, part: int, body: bytes) -> str:
        """Upload a part. Return its ETag."""
        stored = self._client.upload_part(Bucket=self._bucket, Key=key, UploadId=upload, PartNumber=part, Body=body)
        etag: str = stored["ETag"]
        return etag

    def parts(self, key: str, upload: str) -> dict[int, str] | None:
        """Return the ETags of the stored parts, by number; None for an upload that is completed or gone."""
        found: dict[int, str] = {}
        marker = 0
        while True:
            try:
                page = self._client.list_parts(Bucket=self._bucket, Key=key, UploadId=upload, PartNumberMarker=marker)
            except ClientError as error:
                if error.response["Error"]["Code"] == "NoSuchUpload":
                    return None
                raise
            found |= {part["PartNumber"]: part["ETag"] for part in page.get("Parts", [])}
            if not page.get("IsTruncated"):
                return found
            marker = page["NextPartNumberMarker"]

    def complete_upload(self, key: str, upload: str, parts: dict[int, str]) -> None:
        """Make one object of the parts."""
        listed = [{"PartNumber": part, "ETag": etag} for part, etag in sorted(parts.items())]
        self._client.complete_multipart_upload(
            Bucket=self._bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": listed}
        )

    def _get(self, **where: Any) -> Any:
        return self._client.get_object(Bucket=self._bucket, **where)


def _piece_key(batch: Batch, block: int, kind: str, piece: int) -> str:
    return f"batch/{batch.id}/{block:05d}/{kind}.{piece}"

"""The job bucket: inputs, and the output of each attempt. Nothing is overwritten."""

from typing import Any

from botocore.exceptions import ClientError

from inference_api.answer import Answer
from inference_api.jobs.job import Job, Output

LINK_IN_SECONDS = 300
# A copy in the table is read in a few milliseconds; DynamoDB takes items of 400 kB and bills each kB.
MOST_IN_TABLE = 100_000

_LONGEST_FAILURE_IN_BYTES = 4096


class JobFiles:
    """Keys: `input/<job>`, `output/<job>/<attempt>/<any name>`, `failure/...`."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def put_input(self, job_id: str, body: bytes) -> None:
        """Stored before the job's row."""
        self._client.put_object(Bucket=self._bucket, Key=f"input/{job_id}", Body=body, ContentType="application/json")

    def get_input(self, job_id: str) -> bytes:
        """Raises botocore's ClientError."""
        body: bytes = self._client.get_object(Bucket=self._bucket, Key=f"input/{job_id}")["Body"].read()
        return body

    def input_location(self, job_id: str) -> str:
        """As the asynchronous endpoint reads it."""
        return f"s3://{self._bucket}/input/{job_id}"

    def put_output(self, job_id: str, attempt: int, answer: Answer) -> Output:
        """Store the answer that a worker got; an asynchronous endpoint writes its own."""
        key = f"output/{job_id}/{attempt}/answer"
        stored = self._client.put_object(
            Bucket=self._bucket, Key=key, Body=answer.body, ContentType=answer.content_type
        )
        return _pinned(key, stored, len(answer.body), answer.content_type, attempt)

    def find_output(self, job_id: str, attempt: int, hint: str | None = None) -> tuple[Output, Answer | None] | None:
        """The output of an attempt, and the answer in it if the table should have a copy.

        hint: the key that a notification names; right or wrong, an output that exists is found.
        """
        prefix = f"output/{job_id}/{attempt}/"
        if hint and hint.startswith(prefix) and (found := self._open(hint, attempt)):
            return found
        # By prefix: the file name that SageMaker gives an output is not documented.
        listed = self._client.list_objects_v2(Bucket=self._bucket, Prefix=prefix)
        keys = sorted(item["Key"] for item in listed.get("Contents", []))
        return self._open(keys[0], attempt) if keys else None

    def read_output(self, output: Output) -> Answer:
        """The answer in an output."""
        found = self._client.get_object(Bucket=self._bucket, Key=output.key, VersionId=output.version_id)
        return Answer(found["Body"].read(), output.content_type)

    def link(self, job: Job) -> str:
        """A URL of the output that anybody can use for 5 minutes."""
        assert job.output
        where = {"Bucket": self._bucket, "Key": job.output.key, "VersionId": job.output.version_id}
        # To be saved, not shown: a model's text must not run in a browser.
        where["ResponseContentDisposition"] = "attachment"
        url: str = self._client.generate_presigned_url("get_object", Params=where, ExpiresIn=LINK_IN_SECONDS)
        return url

    def key_of(self, location: str | None) -> str | None:
        """The key of an `s3://` location in this bucket; None for any other."""
        prefix = f"s3://{self._bucket}/"
        return location.removeprefix(prefix) if location and location.startswith(prefix) else None

    def read_failure(self, key: str) -> str | None:
        """SageMaker's description of a failed attempt; None if there is none."""
        found = self._get(key)
        return found["Body"].read(_LONGEST_FAILURE_IN_BYTES).decode(errors="replace") if found else None

    def _open(self, key: str, attempt: int) -> tuple[Output, Answer | None] | None:
        found = self._get(key)
        if not found:
            return None
        size, content_type = found["ContentLength"], found.get("ContentType") or ""
        if not content_type or content_type.endswith("octet-stream"):
            content_type = "application/json"  # the type that was asked for
        output = _pinned(key, found, size, content_type, attempt)
        return output, Answer(found["Body"].read(), content_type) if output.in_table else None

    def _get(self, key: str) -> Any:
        try:
            return self._client.get_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return None
            raise


def _pinned(key: str, version: Any, size: int, content_type: str, attempt: int) -> Output:
    etag, version_id = version["ETag"].strip('"'), version.get("VersionId", "null")
    return Output(key, version_id, etag, size, content_type[:100], attempt, in_table=size <= MOST_IN_TABLE)

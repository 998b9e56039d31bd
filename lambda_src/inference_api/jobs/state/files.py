"""The job bucket: inputs, and the output of each attempt. Nothing is overwritten."""

import re
from typing import Any, Literal

from botocore.exceptions import ClientError

from inference_api.http.answer import Answer
from inference_api.jobs.state.job import Job, Output

LINK_IN_SECONDS = 300
# A smaller answer has a copy in the table, which is read in a few milliseconds. DynamoDB takes items of 400 kB and
# bills each kB.
MOST_IN_TABLE = 100_000

_LONGEST_FAILURE_IN_BYTES = 65_536
# A row holds two keys. Keys of an asynchronous endpoint, with ids of its own, have about 90 characters.
_LONGEST_KEY = 150


class JobFiles:
    """Reads and writes the objects of jobs.

    Their keys are `input/<job>`, `failure/...`, and `output/<job>/<attempt>/answer` for the output of a worker.
    SageMaker names the output of an asynchronous attempt. Its API says only that the path extension, `<job>/<attempt>`,
    "is appended" to the path `output/`. So the output is found wherever the extension stands in the name.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def put_input(self, job_id: str, body: bytes) -> None:
        """Store a job's input. This comes before the job's row."""
        self._client.put_object(Bucket=self._bucket, Key=f"input/{job_id}", Body=body, ContentType="application/json")

    def get_input(self, job_id: str) -> bytes:
        """Return a job's input. Raises botocore's ClientError."""
        body: bytes = self._client.get_object(Bucket=self._bucket, Key=f"input/{job_id}")["Body"].read()
        return body

    def input_location(self, job_id: str) -> str:
        """Return where the asynchronous endpoint finds a job's input."""
        return f"s3://{self._bucket}/input/{job_id}"

    def put_output(self, job_id: str, attempt: int, answer: Answer) -> Output:
        """Store the answer that a worker got; an asynchronous endpoint writes its own."""
        key = f"output/{job_id}/{attempt}/answer"
        stored = self._client.put_object(
            Bucket=self._bucket, Key=key, Body=answer.body, ContentType=answer.content_type
        )
        return _pinned(key, stored, len(answer.body), answer.content_type, attempt)

    def find_output(
        self, job: Job, attempt: int, announced_key: str | None = None
    ) -> tuple[Output, Answer | None] | None:
        """Return the output of an attempt, and the answer in it if the table should have a copy; None if there is none.

        Looks first at the key that SageMaker has named for the output, then at the key that a notification names (if it
        has the job's id), then at all objects that begin with `output/<job>`.
        """
        if job.output_key and attempt == job.marked and (found := self._open(job.output_key, attempt)):
            return found
        names_the_job = announced_key and job.id in announced_key and _attempt_of(announced_key, job) in (attempt, None)
        if announced_key and names_the_job and (found := self._open(announced_key, attempt)):
            return found
        listed = self._client.list_objects_v2(Bucket=self._bucket, Prefix=f"output/{job.id}")
        keys = sorted(item["Key"] for item in listed.get("Contents", []) if _attempt_of(item["Key"], job) == attempt)
        return self._open(keys[0], attempt) if keys else None

    def read_output(self, output: Output) -> Answer:
        """Return the answer in an output."""
        found = self._client.get_object(Bucket=self._bucket, Key=output.key, VersionId=output.version_id)
        return Answer(found["Body"].read(), output.content_type)

    def link(self, job: Job) -> str:
        """Return a URL of the output that anybody can use for 5 minutes."""
        assert job.output
        where = {"Bucket": self._bucket, "Key": job.output.key, "VersionId": job.output.version_id}
        # To be saved, not shown: a model's text must not run in a browser.
        where["ResponseContentDisposition"] = "attachment"
        url: str = self._client.generate_presigned_url("get_object", Params=where, ExpiresIn=LINK_IN_SECONDS)
        return url

    def key_of(self, location: object, folder: Literal["output", "failure"]) -> str | None:
        """Return the key of an `s3://` location in a folder of the bucket; None for other texts and very long keys."""
        bucket = f"s3://{self._bucket}/"
        if not isinstance(location, str) or not location.startswith(f"{bucket}{folder}/"):
            return None
        key = location.removeprefix(bucket)
        return key if len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable() else None

    def read_failure(self, key: str) -> str | None:
        """Return SageMaker's description of a failed attempt; None if there is none."""
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


def _attempt_of(key: str, job: Job) -> int | None:
    """Return the attempt that a key names after the job's id; None if it names none."""
    named = re.match(rf"output/{job.id}\W([1-9])", key)
    return int(named[1]) if named else None


def _pinned(key: str, version: Any, size: int, content_type: str, attempt: int) -> Output:
    etag, version_id = version["ETag"].strip('"'), version.get("VersionId", "null")
    return Output(key, version_id, etag, size, content_type[:100], attempt, in_table=size <= MOST_IN_TABLE)

"""An attempt's output is found where SageMaker says, or below the job's id; never another job's."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.transitions import accept, claim
from inference_api.shared.job_times import JobTimes

ID, OTHER = "a" * 32, "b" * 32
TIMES = JobTimes(3600, 3600, 60)
_CLAIMED = claim(accept(ID, "owner", 1000.0, TIMES), 1000.0, TIMES)
assert _CLAIMED
JOB = _CLAIMED


class Bucket:
    """An S3 client of a bucket with empty objects."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def list_objects_v2(self, *, Bucket: str, Prefix: str) -> dict[str, Any]:
        return {"Contents": [{"Key": key} for key in self.keys if key.startswith(Prefix)]}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.keys:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"ContentLength": 10**6, "ETag": '"etag"'}


def found(*keys: str, attempt: int = 1, announced: str | None = None, **told: Any) -> str | None:
    """Return the key of the output that is found among these."""
    output = JobFiles(Bucket(*keys), "bucket").find_output(replace(JOB, **told), attempt, announced)
    return output[0].key if output else None


@pytest.mark.parametrize("name", ["/1/x.out", "/1/answer", "/1x.out", "/1.out", ".1.out", "-1/x"])
def test_an_output_that_begins_with_the_jobs_id_needs_no_hint(name: str) -> None:
    key = f"output/{ID}{name}"
    assert found(key) == key
    assert found(key, attempt=2) is None
    assert found(key.replace(ID, OTHER)) is None


def test_where_sagemaker_says_comes_first() -> None:
    told, listed = "output/x/any.out", f"output/{ID}/1/x.out"
    assert found(told, listed, output_key=told, marked=1) == told
    assert found(listed, output_key=told, marked=1) == listed
    assert found(told, output_key=told, marked=1, attempt=2) is None


def test_a_notification_may_name_any_object_with_the_jobs_id() -> None:
    named = f"output/x/{ID}/1.out"
    assert found(named, announced=named) == named
    assert found(named) is None
    another_attempts = f"output/{ID}/2/x.out"
    assert found(another_attempts, announced=another_attempts) is None
    others = f"output/x/{OTHER}/1.out"
    assert found(others, announced=others) is None


@pytest.mark.parametrize(
    "location",
    [
        None,
        7,
        ["s3://bucket/output/x"],
        "",
        "s3://other/output/x",
        "s3://bucket/input/x",
        "s3://bucket/outputs/x",
        "s3://bucket/output/\ud800",
        "s3://bucket/output/" + "x" * 1000,
    ],
)
def test_a_location_that_is_none_of_ours_has_no_key(location: object) -> None:
    assert JobFiles(Bucket(), "bucket").key_of(location, "output") is None


def test_a_location_of_ours_has_its_key() -> None:
    assert JobFiles(Bucket(), "bucket").key_of("s3://bucket/output/a/1/x.out", "output") == "output/a/1/x.out"

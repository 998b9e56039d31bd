"""A job that is not accepted after all, and its key's account."""

from random import Random
from typing import Any

import pytest

from inference_api.errors import ApiError
from inference_api.http import Request
from inference_api.jobs.job import Job
from inference_api.jobs.policy import JobPolicy
from inference_api.jobs.submission import Submission
from inference_api.jobs.table import JobExistsError, LimitReachedError
from inference_api.key_usage import KeyUsage
from inference_api.openai.call import OpenAICall
from inference_api.request_body import RequestRules
from inference_api.runtime import Runtime
from inference_api.settings import Limits

RUNTIME = Runtime(now=lambda: 1000.0, random=Random(1))


class Parts:
    """Table of jobs, bucket, backend and the table of usage, whose sums are `counts`."""

    def __init__(self, refusal: Exception) -> None:
        self.refusal = refusal
        self.counts = {"requests": 0, "errors": 0, "charged": 0}

    def add(self, *_: Any) -> None:
        raise self.refusal

    def put_input(self, *_: Any) -> None: ...

    def claim_at_acceptance(self, job: Job) -> Job:
        return job

    def update_item(self, *, ExpressionAttributeValues: dict[str, Any], **_: Any) -> None:
        for name in self.counts:
            self.counts[name] += int(ExpressionAttributeValues.get(f":{name}", {"N": "0"})["N"])


def submission(parts: Any) -> Submission:
    return Submission(
        parts,
        parts,
        parts,
        rules=RequestRules("engine", ("prompt",), {}, 1000),
        policy=JobPolicy(3600, 3600, 60),
        limits=Limits(10, None),
        runtime=RUNTIME,
        deployment="d",
        engine_serves=lambda: True,
        usage=KeyUsage(parts, "usage", RUNTIME),
    )


def test_a_job_over_its_owners_limit_is_not_counted() -> None:
    parts = Parts(LimitReachedError("open_jobs"))
    request = Request(b'{"prompt": "a"}', "application/json", "a" * 32)
    with pytest.raises(ApiError):
        submission(parts).submit(request)
    assert set(parts.counts.values()) == {0}


def test_a_line_of_a_batch_that_is_begun_again_is_not_counted_again() -> None:
    parts = Parts(JobExistsError())
    call = OpenAICall({"prompt": "a"}, "prompt", False, "model", False, False, True, True)
    submission(parts).submit_line("0" * 32, "a" * 32, None, call, run_until=2000, keep_until=3000)
    assert set(parts.counts.values()) == {0}

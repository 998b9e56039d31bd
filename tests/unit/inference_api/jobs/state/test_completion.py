"""The end of a job, as the log tells it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.jobs.state import transitions
from inference_api.jobs.state.completion import Completion
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime

TIMES = JobTimes(deadline=7200, retention=3600, invocation_timeout=900)
JOB = transitions.accept("a" * 32, "someone", 900.0, TIMES)


@pytest.fixture
def completion() -> Completion:
    """Return the completion of jobs at a time after the deadline of JOB."""
    table: Any = SimpleNamespace(change=lambda job, decide, _=None: (decide(job), True))
    events: Any = SimpleNamespace(put_events=lambda **_: {"FailedEntryCount": 0})
    return Completion(table, events, TIMES, Runtime(now=lambda: 9000.0), "chat")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the lines of the log without those of metrics."""
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in found if "_aws" not in line]


def test_a_job_that_the_sweeper_ends_is_named(completion: Completion, capsys: pytest.CaptureFixture[str]) -> None:
    completion.expire(JOB)
    assert lines(capsys) == [{"job": JOB.id, "status": "expired", "code": None}]


def test_a_job_that_its_owner_cancels_is_not(completion: Completion, capsys: pytest.CaptureFixture[str]) -> None:
    completion.cancel(JOB)
    assert lines(capsys) == []

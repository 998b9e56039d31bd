"""An asynchronous endpoint that sleeps is woken by one small job without an owner."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from inference_api.jobs.state.job import SUCCEEDED, Job
from inference_api.jobs.state.table import Accepted, OwnerCharge, Reservation
from inference_api.jobs.submission import Submission
from inference_api.shared.job_times import JobTimes
from inference_api.shared.request_rules import RequestRules
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import Limits


class Parts:
    """Table, bucket and backend."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.replaced = list[str | None]()
        self.inputs, self.dispatched = list[Any](), list[Job]()

    def find_key(self, owner: str, key: str) -> Accepted | None:
        return Accepted(self.job.id, "") if self.job else None

    def get(self, job_id: str) -> Job | None:
        return self.job

    def add(self, job: Job, charge: OwnerCharge, reservation: Reservation) -> None:
        assert charge.tokens == 0
        self.job = job
        self.replaced.append(reservation.replaces)

    def put_input(self, job_id: str, body: bytes) -> None:
        self.inputs.append(json.loads(body))

    def claim_at_acceptance(self, job: Job) -> Job:
        return job

    def dispatch(self, job: Job) -> None:
        self.dispatched.append(job)


def submission(parts: Any, *bodies: str) -> Submission:
    return Submission(
        parts,
        parts,
        parts,
        rules=RequestRules("engine", bodies, {}, 1000),
        times=JobTimes(3600, 3600, 60),
        limits=Limits(10, None),
        runtime=Runtime(now=lambda: 1000.0, random=Random(1)),
        deployment="d",
        engine_serves=lambda: True,
    )


@pytest.mark.parametrize("bodies", [("inputs", "messages", "prompt"), ("inputs",), ("messages",)])
def test_a_wake_is_one_token_in_a_form_that_the_engine_takes(bodies: tuple[str, ...]) -> None:
    parts = Parts()
    submission(parts, *bodies).wake()
    assert len(set(parts.inputs[0]) & set(bodies)) == 1
    assert "1" in json.dumps(parts.inputs[0])
    assert len(parts.dispatched) == 1


def test_one_wake_is_open_at_a_time_and_the_next_takes_its_key() -> None:
    parts = Parts()
    wakes = submission(parts, "prompt")
    wakes.wake()
    wakes.wake()
    assert len(parts.dispatched) == 1
    first = parts.job
    assert first
    parts.job = replace(first, state=SUCCEEDED)
    wakes.wake()
    assert (len(parts.dispatched), parts.replaced) == (2, [None, first.id])

"""The queue's messages: how long a job waits, and messages that are not ours."""

import json
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.jobs import worker
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.state.transitions import accept
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime

TIMES = JobTimes(3600, 3600, 60)
JOB = accept("0" * 32, "a" * 32, 1000.0, TIMES)


@pytest.mark.parametrize(("waits", "least", "most"), [(0, 0, 1), (3, 4, 8), (6, 30, 60), (1100, 30, 60)])
def test_a_job_waits_longer_each_time_up_to_a_minute(waits: int, least: int, most: int) -> None:
    sent: list[dict[str, Any]] = []
    client = SimpleNamespace(send_message=lambda **request: sent.append(request))
    table: Any = SimpleNamespace(change=lambda job, decide: (job, False))
    completion: Any = None
    runtime = Runtime(random=Random(1))
    backend = QueueBackend(client, "url", table=table, completion=completion, times=TIMES, runtime=runtime)
    backend.dispatch_later(JOB, waits)
    (message,) = sent
    assert least <= message["DelaySeconds"] <= most
    assert json.loads(message["MessageBody"]) == {"job": JOB.id, "waits": waits + 1}


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        "7",
        "{}",
        f'{{"job": "{JOB.id}"}}',
        f'{{"job": "{JOB.id}", "waits": 1e999}}',
        f'{{"job": "{JOB.id}", "waits": -1}}',
        f'{{"job": "{JOB.id}", "waits": "1"}}',
        f'{{"job": "{JOB.id * 100}", "waits": 0}}',
        f'{{"job": "\\ud800{JOB.id[1:]}", "waits": 0}}',
        f'{{"job": ["{JOB.id}"], "waits": 0}}',
    ],
)
def test_a_message_that_is_not_ours_is_read_without_an_error(body: str) -> None:
    assert worker._read(body) == ("", 0)

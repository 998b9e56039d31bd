"""Sending a job's message wakes a machine. Whatever fails is left to the tender."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from inference_api.jobs.backends.machine_backend import MachineBackend
from inference_api.jobs.state.transitions import accept
from inference_api.machines.ec2_instances import Ec2Instances
from inference_api.machines.row import BUSY, IDLE, LOADING, STOPPING, USUAL_BOOT_IN_SECONDS, MachineRow
from inference_api.machines.starter import Starter
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import OutOfTimeError, Runtime

NOW = 10_000.0
ASLEEP = MachineRow(0, "i-0", IDLE, seen_at=5000, ready_at=5000)
OTHER = MachineRow(1, "i-1", IDLE, seen_at=5000, ready_at=5000)


class Rows:
    def __init__(self, *rows: MachineRow) -> None:
        self.rows, self.notes = rows, list[tuple[str, int]]()

    def each(self) -> Iterator[MachineRow]:
        yield from self.rows

    def note_tried(self, number: int, now: float) -> None:
        self.notes.append(("tried", number))

    def note_asked(self, number: int, now: float) -> None:
        self.notes.append(("asked", number))

    def note_refused(self, number: int, now: float) -> None:
        self.notes.append(("refused", number))


class NotedRows(Rows):
    """One row, with its times."""

    def note_tried(self, number: int, now: float) -> None:
        self.rows = (replace(self.rows[0], tried_at=now),)

    def note_asked(self, number: int, now: float) -> None:
        self.rows = (replace(self.rows[0], asked_at=now),)

    def note_refused(self, number: int, now: float) -> None:
        self.rows = (replace(self.rows[0], refused_at=now),)


class Ec2:
    """EC2, which fails for an instance with its error, or returns the state that the instance had before."""

    def __init__(self, **outcomes: Any) -> None:
        self.outcomes, self.asked = outcomes, list[str]()

    def start_instances(self, InstanceIds: list[str]) -> Any:
        (instance_id,) = InstanceIds
        self.asked.append(instance_id)
        outcome = self.outcomes.get(instance_id.replace("-", "_"), "stopped")
        if isinstance(outcome, Exception):
            raise outcome
        return {"StartingInstances": [{"InstanceId": instance_id, "PreviousState": {"Name": outcome}}]}


def refusal(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "StartInstances")


def wake(rows: Rows, ec2: Ec2) -> list[str]:
    known: Any = rows
    Starter(known, Ec2Instances(lambda: ec2, "stack"), Runtime(now=lambda: NOW), "stack").wake()
    return ec2.asked


def test_a_sleeping_machine_is_started() -> None:
    rows = Rows(ASLEEP, OTHER)
    assert wake(rows, Ec2()) == ["i-0"]
    assert rows.notes == [("tried", 0), ("asked", 0)]


@pytest.mark.parametrize(
    "second",
    [
        MachineRow(1, "i-1", BUSY, seen_at=NOW - 20),
        MachineRow(1, "i-1", LOADING, seen_at=NOW - 20),
        MachineRow(1, "i-1", IDLE, seen_at=5000, tried_at=NOW - 29),
        MachineRow(1, "i-1", IDLE, seen_at=5000, asked_at=NOW - USUAL_BOOT_IN_SECONDS),
        MachineRow(1, "i-1", IDLE, seen_at=5000, asked_at=NOW - 300, boot_in_seconds=300),
    ],
)
def test_nothing_is_started_while_a_machine_takes_jobs_or_is_about_to(second: MachineRow) -> None:
    assert wake(Rows(ASLEEP, second), Ec2()) == []


@pytest.mark.parametrize(
    "second",
    [
        MachineRow(1, "i-1", STOPPING, seen_at=NOW - 5),
        MachineRow(1, "i-1", IDLE, seen_at=5000, tried_at=NOW - 30),
        MachineRow(1, "i-1", IDLE, seen_at=5000, asked_at=NOW - USUAL_BOOT_IN_SECONDS - 1),
        MachineRow(1, "i-1", IDLE, seen_at=NOW - 95, asked_at=NOW - 100),  # it has been here, and is gone
        MachineRow(1, "i-1", IDLE, seen_at=5000, asked_at=NOW - 40, tried_at=NOW - 40, refused_at=NOW - 38),
    ],
)
def test_a_machine_that_stops_or_was_asked_long_ago_is_no_reason_to_wait(second: MachineRow) -> None:
    assert wake(Rows(ASLEEP, second), Ec2()) == ["i-0"]


def test_a_machine_that_goes_down_is_the_last_to_be_asked() -> None:
    """While an instance powers itself off, EC2 still counts it as running, and does not start it again."""
    assert wake(Rows(replace(ASLEEP, state=STOPPING, seen_at=NOW - 5), OTHER), Ec2(i_0="running")) == ["i-1"]


@pytest.mark.parametrize(
    "outcome",
    [
        ClientError({"Error": {"Code": "InsufficientInstanceCapacity"}}, "StartInstances"),
        ClientError({"Error": {"Code": "IncorrectInstanceState"}}, "StartInstances"),
        ReadTimeoutError(endpoint_url="https://ec2"),
        "running",
        "stopped",
    ],
)
def test_many_jobs_that_are_sent_at_once_ask_once(outcome: Any) -> None:
    rows: Any = NotedRows(replace(ASLEEP, state=STOPPING))
    ec2, times = Ec2(i_0=outcome), iter(range(600))
    starter = Starter(rows, Ec2Instances(lambda: ec2, "stack"), Runtime(now=lambda: NOW + next(times) / 10), "stack")
    for _ in range(100):
        starter.wake()
    assert ec2.asked == ["i-0"]


def test_a_machine_that_has_never_registered_is_left_to_the_tender() -> None:
    assert wake(Rows(MachineRow(0)), Ec2()) == []


def test_one_that_cannot_be_started_is_followed_by_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(ASLEEP, OTHER)
    assert wake(rows, Ec2(i_0=refusal("InsufficientInstanceCapacity", 500))) == ["i-0", "i-1"]
    assert rows.notes == [("tried", 0), ("refused", 0), ("tried", 1), ("asked", 1)]
    assert "MachineStartFailures" in capsys.readouterr().out


def test_one_on_its_way_down_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(ASLEEP)
    wake(rows, Ec2(i_0=refusal("IncorrectInstanceState")))
    assert rows.notes == [("tried", 0)]
    assert "MachineStartFailures" not in capsys.readouterr().out


def test_a_start_of_one_that_runs_is_not_the_begin_of_a_boot() -> None:
    rows = Rows(ASLEEP)
    wake(rows, Ec2(i_0="running"))
    assert rows.notes == [("tried", 0)]


@pytest.mark.parametrize(
    "error",
    [
        refusal("RequestLimitExceeded", 503),
        refusal("UnauthorizedOperation", 403),
        refusal("InternalError", 500),
    ],
)
def test_no_refusal_of_ec2_reaches_the_caller(error: Exception) -> None:
    rows = Rows(ASLEEP)
    wake(rows, Ec2(i_0=error))
    assert rows.notes == [("tried", 0), ("refused", 0)]


@pytest.mark.parametrize(
    "error",
    [
        ReadTimeoutError(endpoint_url="https://ec2"),
        ConnectTimeoutError(endpoint_url="https://ec2"),
        EndpointConnectionError(endpoint_url="https://ec2"),
        OutOfTimeError(),
    ],
)
def test_a_start_without_an_answer_may_have_been_taken(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(ASLEEP, OTHER)
    assert wake(rows, Ec2(i_0=error)) == ["i-0"]
    assert rows.notes == [("tried", 0), ("asked", 0)]
    assert "MachineStartFailures" in capsys.readouterr().out


def test_a_table_that_fails_does_not_reach_the_caller_either() -> None:
    class Failing(Rows):
        def each(self) -> Iterator[MachineRow]:
            raise refusal("ThrottlingException")

    assert wake(Failing(ASLEEP), Ec2()) == []


def test_the_message_is_sent_before_a_machine_is_looked_for() -> None:
    done: list[str] = []
    parts: dict[str, Any] = {
        "table": SimpleNamespace(change=lambda job, decide: (job, True)),
        "completion": None,
        "times": JobTimes(3600, 3600, 900),
        "runtime": Runtime(),
        "starter": SimpleNamespace(wake=lambda: done.append("wake")),
        "readiness": None,
    }
    queue = SimpleNamespace(send_message=lambda **request: done.append("send"))
    backend = MachineBackend(queue, "url", **parts)
    job = accept("0" * 32, "a" * 32, NOW, parts["times"])
    backend.dispatch(job)
    assert done == ["send", "wake"]
    backend.tend(job)  # by the sweeper, which starts no machine
    assert done == ["send", "wake", "send"]

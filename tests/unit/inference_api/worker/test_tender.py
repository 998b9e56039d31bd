"""The tender's view of the work, and EC2's pages."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import Job
from inference_api.machines.ec2_instances import RUNNING, STOPPED, Ec2Instance, Ec2Instances
from inference_api.machines.row import IDLE, MachineRow
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from inference_api.worker.tender import Tender
from inference_api.worker.tender_plan import TenderLimits

NOW = 100_000.0
TIMES = JobTimes(deadline=7200, retention=3600, invocation_timeout=900)
SLEEPING = Ec2Instance("i-0", 0, STOPPED, NOW - 90_000)


def accepted(number: int = 0, at: float = NOW - 600) -> Job:
    return transitions.accept(f"{number:032x}", "a" * 32, at, TIMES)


def started(*jobs: Job, messages: int = 1) -> bool:
    """Whether the tender starts the sleeping machine."""
    table: Any = SimpleNamespace(
        due=lambda shard, within: iter([(0.0, job.id) for job in jobs] if shard == 0 else []),
        get=lambda job_id: next(job for job in jobs if job.id == job_id),
    )
    asked: list[str] = []
    queue: Any = SimpleNamespace(count_waiting=lambda: messages)
    rows: Any = SimpleNamespace(each=lambda: iter([MachineRow(0, "i-0", IDLE, seen_at=1, ready_at=1)]))
    ec2_instances: Any = SimpleNamespace(describe=lambda: [SLEEPING])
    starter: Any = SimpleNamespace(start=lambda number, instance_id: asked.append(instance_id))
    tender_of(table, queue, rows, ec2_instances, starter).tend()
    return asked == ["i-0"]


def tender_of(table: Any, queue: Any, rows: Any, ec2_instances: Any, starter: Any) -> Tender:
    limits, runtime = TenderLimits(1800, 900, 900, 4), Runtime(now=lambda: NOW)
    return Tender(
        table, queue, rows, ec2_instances, starter, times=TIMES, limits=limits, runtime=runtime, deployment="gpt2-ec2"
    )


def test_a_job_that_waits_is_work() -> None:
    assert started(accepted())


def test_a_job_that_can_no_longer_be_begun_starts_no_machine() -> None:
    longest_wait = TIMES.latest_start(accepted(at=0).deadline)
    assert started(accepted(at=NOW - longest_wait))
    assert not started(accepted(at=NOW - longest_wait - 1))


def test_a_job_that_has_ended_and_is_not_announced_is_none() -> None:
    cancelled = transitions.cancel(accepted(1), NOW, TIMES)
    assert cancelled
    assert not started(cancelled)
    assert started(cancelled, accepted(2))


def test_behind_more_rows_than_one_look_takes_the_queue_tells_of_work() -> None:
    ended = [replace(each, state="SUCCEEDED", holds_slot=False) for each in map(accepted, range(200))]
    assert not started(*ended[1:])
    assert started(*ended)
    assert not started(*ended, messages=0)


def test_a_machine_that_cannot_be_stopped_keeps_no_other_from_its_start(capsys: pytest.CaptureFixture[str]) -> None:
    hung = Ec2Instance("i-1", 1, RUNNING, NOW - 1000)

    def stop(instance_id: str) -> None:
        raise EndpointConnectionError(endpoint_url="https://ec2")

    asked: list[str] = []
    job = accepted()
    table: Any = SimpleNamespace(due=lambda shard, within: iter([(0.0, job.id)]), get=lambda job_id: job)
    queue: Any = SimpleNamespace(count_waiting=lambda: 1)
    rows: Any = SimpleNamespace(each=lambda: iter([MachineRow(0), MachineRow(1)]))
    ec2_instances: Any = SimpleNamespace(describe=lambda: [SLEEPING, hung], stop=stop)
    starter: Any = SimpleNamespace(start=lambda number, instance_id: asked.append(instance_id))
    tender_of(table, queue, rows, ec2_instances, starter).tend()
    assert asked == ["i-0"]
    assert '"MachinesUnwell": 1' in capsys.readouterr().out


def test_a_dashboard_is_told_each_minute_how_many_machines_bill(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHBOARD_OF", "gpt2-ec2")
    running = SLEEPING._replace(id="i-1", number=1, state=RUNNING, launched_at=NOW - 60)
    nothing: Any = SimpleNamespace(due=lambda *_: iter([]), count_waiting=lambda: 0, each=lambda: iter([]))
    tender_of(nothing, nothing, nothing, SimpleNamespace(describe=lambda: [SLEEPING, running]), nothing).tend()
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["MachinesAwake"] for each in told if "MachinesAwake" in each] == [1]


def test_instances_come_in_pages_and_only_those_of_the_stack_are_asked_for() -> None:
    def described(number: int) -> dict[str, Any]:
        tags = [{"Key": "slipway:machine", "Value": str(number)}, {"Key": "Name", "Value": "x"}]
        launched = datetime.fromtimestamp(NOW, UTC)
        return {"InstanceId": f"i-{number}", "LaunchTime": launched, "State": {"Name": "running"}, "Tags": tags}

    requests: list[dict[str, Any]] = []

    def pages() -> Iterator[dict[str, Any]]:
        yield {"Reservations": [], "NextToken": "1"}
        yield {"Reservations": [{"Instances": [described(1)]}, {"Instances": [described(0)]}]}

    page = pages()

    def describe_instances(**request: Any) -> dict[str, Any]:
        requests.append(request)
        return next(page)

    client = SimpleNamespace(describe_instances=describe_instances)
    found = Ec2Instances(lambda: client, "gpt2-ec2").describe()
    assert found == [Ec2Instance("i-0", 0, RUNNING, NOW), Ec2Instance("i-1", 1, RUNNING, NOW)]
    assert requests[1]["NextToken"] == "1"
    assert {"Name": "tag:slipway:deployment", "Values": ["gpt2-ec2"]} in requests[0]["Filters"]

"""The readiness of machines: no jobs before the first answer, the wait for a boot, the status."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from inference_api.machines.readiness import Readiness
from inference_api.machines.row import BUSY, IDLE, LOADING, STOPPING, USUAL_BOOT_IN_SECONDS, MachineRow
from inference_api.shared.errors import ApiError

NOW = 10_000.0
ASLEEP = MachineRow(0, "i-0", IDLE, seen_at=5000, ready_at=5000, boot_in_seconds=90, asked_at=4000)


class Rows:
    def __init__(self, *rows: MachineRow, fail: bool = False) -> None:
        self.rows, self.fail, self.reads = rows, fail, 0

    def each(self) -> Iterator[MachineRow]:
        self.reads += 1
        if self.fail:
            raise EndpointConnectionError(endpoint_url="https://dynamodb")
        yield from self.rows


def of(*rows: MachineRow, fail: bool = False) -> Readiness:
    known: Any = Rows(*rows, fail=fail)
    return Readiness(known, lambda: NOW, boot_limit=900)


def test_no_job_is_taken_before_a_model_has_answered() -> None:
    with pytest.raises(ApiError) as caught:
        of(MachineRow(0, "i-0", LOADING, seen_at=NOW)).demand()
    assert (caught.value.status, caught.value.code) == (503, "endpoint_not_ready")


def test_jobs_are_taken_while_all_machines_sleep() -> None:
    of(ASLEEP, MachineRow(1)).demand()


def test_rows_that_cannot_be_read_refuse_nothing() -> None:
    of(fail=True).demand()
    assert of(fail=True).seconds_until_ready() == 0


def test_the_gate_is_asked_until_it_has_opened() -> None:
    rows: Any = Rows(ASLEEP)
    readiness = Readiness(rows, lambda: NOW, 900)
    readiness.demand()
    readiness.demand()
    assert rows.reads == 1


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({"state": BUSY, "seen_at": NOW - 20}, 0),
        ({}, 90),
        ({"boot_in_seconds": 0}, USUAL_BOOT_IN_SECONDS),
        ({"asked_at": NOW - 30}, 60),
        ({"asked_at": NOW - 88}, 5),
        # Later than usual it may be ready at any moment.
        ({"asked_at": NOW - 91}, 5),
        ({"asked_at": NOW - 400}, 20),
        ({"asked_at": NOW - 900}, 45),
        ({"asked_at": NOW - 901}, 90),  # it has failed; the tender starts it again
        ({"asked_at": NOW - 300, "refused_at": NOW - 200}, 90),
        ({"asked_at": NOW - 300, "state": LOADING, "seen_at": NOW - 20}, 15),
        ({"asked_at": NOW - 4000, "state": LOADING, "seen_at": NOW - 20}, 90),
    ],
)
def test_a_caller_waits_for_what_is_left_of_the_usual_boot(changes: dict[str, Any], seconds: int) -> None:
    assert of(MachineRow(**(vars(ASLEEP) | changes)), MachineRow(1)).seconds_until_ready() == seconds


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"state": BUSY, "seen_at": NOW - 20}, "InService"),
        ({"state": LOADING, "seen_at": NOW - 20}, "Starting"),
        ({"asked_at": NOW - 30}, "Starting"),
        ({"state": IDLE, "seen_at": NOW - 40, "asked_at": NOW - 30}, "Starting"),  # stopped by others in between
        ({"ready_at": 0}, "Starting"),  # the set-up
        ({"state": STOPPING, "seen_at": NOW - 20}, "Stopping"),
        ({"asked_at": NOW - 901}, "Failed"),
        ({"asked_at": NOW - 30, "refused_at": NOW - 20}, "Failed"),
        ({"refused_at": NOW - 301}, "Stopped"),
        ({}, "Stopped"),
    ],
)
def test_the_status_of_the_machines(changes: dict[str, Any], status: str) -> None:
    assert of(MachineRow(**(vars(ASLEEP) | changes))).describe()["status"] == status


def test_a_start_is_shown_with_its_time() -> None:
    starting = MachineRow(**(vars(ASLEEP) | {"asked_at": NOW - 30}))
    assert of(starting).describe() == {"status": "Starting", "since": NOW - 30, "usual_seconds": 90}
    assert of(ASLEEP).describe()["since"] is None

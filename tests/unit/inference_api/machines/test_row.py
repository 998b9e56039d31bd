"""A machine's row: whether it is alive, how long its boot took, and since when it has had no work."""

import pytest

from inference_api.machines.row import (
    ALIVE_IN_SECONDS,
    BUSY,
    IDLE,
    LOADING,
    SILENT_IN_SECONDS,
    STOPPING,
    MachineRow,
    beat,
    begin_service,
    from_item,
    register,
)

ASLEEP = MachineRow(0, "i-1", IDLE, seen_at=1000, ready_at=1000, busy_at=900, boot_in_seconds=80, asked_at=5000)


@pytest.mark.parametrize(("state", "alive"), [(IDLE, True), (BUSY, True), (LOADING, False), (STOPPING, False)])
def test_a_machine_takes_jobs_while_it_beats_and_its_model_is_there(state: str, alive: bool) -> None:
    machine = MachineRow(0, "i-1", state, seen_at=1000)
    assert machine.is_alive(1000 + ALIVE_IN_SECONDS) is alive
    assert not machine.is_alive(1000 + ALIVE_IN_SECONDS + 0.001)


def test_a_boot_lasts_from_the_start_that_was_asked_for_to_the_first_answer() -> None:
    registered = register(ASLEEP, "i-1", 5040)
    assert registered.state == LOADING
    assert begin_service(registered, ASLEEP, 5070).boot_in_seconds == 70


def test_a_start_by_somebody_else_is_not_measured() -> None:
    row = MachineRow(0, "i-1", IDLE, seen_at=6000, asked_at=5000, boot_in_seconds=80)
    assert begin_service(register(row, "i-1", 9000), row, 9070).boot_in_seconds == 80


def test_a_boot_is_a_reason_to_wait_for_work_and_a_new_process_is_none() -> None:
    assert register(ASLEEP, "i-1", 5040).busy_at == 5040
    assert register(ASLEEP, "i-2", 1010).busy_at == 1010
    assert register(ASLEEP, "i-1", 1000 + SILENT_IN_SECONDS).busy_at == 900


def test_a_beat_after_work_counts_as_work() -> None:
    busy = beat(ASLEEP, BUSY, 2000)
    assert (busy.busy_at, busy.ready_at) == (2000, 2000)
    idle = beat(busy, IDLE, 2020)
    assert idle.busy_at == 2020
    assert beat(idle, IDLE, 2040).busy_at == 2020


def test_a_beat_without_the_model_says_so() -> None:
    assert beat(ASLEEP, LOADING, 2000).ready_at == 1000


def test_attributes_of_another_version_are_ignored() -> None:
    item = {"pk": {"S": "machine#3"}, "state": {"S": IDLE}, "seen_at": {"N": "1.500"}, "new": {"S": "x"}}
    assert from_item(3, item) == MachineRow(3, state=IDLE, seen_at=1.5)

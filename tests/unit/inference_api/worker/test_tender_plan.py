"""The tender's plan: which machines to start and to stop."""

from dataclasses import replace

import pytest

from inference_api.machines.ec2_instances import PENDING, RUNNING, STOPPED, Ec2Instance
from inference_api.machines.row import (
    BUSY,
    IDLE,
    LOADING,
    SILENT_IN_SECONDS,
    STOPPING,
    USUAL_BOOT_IN_SECONDS,
    MachineRow,
)
from inference_api.worker.tender_plan import GRACE_IN_SECONDS, TenderLimits, TenderPlan, Work, plan

NOW = 100_000.0
LIMITS = TenderLimits(idle=1800, boot=900, attempt=600, batch=4)
NONE, SOME = Work(False, False, 0), Work(True, True, 3)
FIRST, SECOND = (Ec2Instance(f"i-{number}", number, STOPPED, NOW - 90_000) for number in (0, 1))
UP = FIRST._replace(state=RUNNING, launched_at=NOW - 5000)
ROW = MachineRow(0, "i-0", IDLE, seen_at=NOW - 10, ready_at=NOW - 10, busy_at=NOW - 60)


def planned(*instances: Ec2Instance, rows: tuple[MachineRow, ...] = (), work: Work = SOME) -> TenderPlan:
    return plan(instances, {row.number: row for row in rows}, work, LIMITS, NOW)


def test_nothing_is_started_without_work() -> None:
    assert planned(FIRST, SECOND, work=NONE) == TenderPlan([], [], 0)


def test_work_starts_one_machine_at_a_time() -> None:
    assert planned(FIRST, SECOND).starts == [FIRST]


@pytest.mark.parametrize(
    "coming",
    [
        (FIRST._replace(state=PENDING, launched_at=NOW - 5), ()),
        (FIRST._replace(state=RUNNING, launched_at=NOW - 60), ()),  # its worker has not begun
        (UP, (ROW,)),
        (UP, (replace(ROW, state=BUSY),)),
    ],
)
def test_another_is_started_only_for_more_than_the_first_takes_at_once(
    coming: tuple[Ec2Instance, tuple[MachineRow, ...]],
) -> None:
    instance, rows = coming
    assert planned(instance, SECOND, rows=rows, work=SOME._replace(messages=4)).starts == []
    assert planned(instance, SECOND, rows=rows, work=SOME._replace(messages=5)).starts == [SECOND]


@pytest.mark.parametrize("rows", [(), (replace(ROW, state=LOADING, ready_at=0),)])
def test_a_boot_is_waited_for_twice_as_long_as_usual(rows: tuple[MachineRow, ...]) -> None:
    slow = FIRST._replace(state=RUNNING, launched_at=NOW - 2 * USUAL_BOOT_IN_SECONDS)
    assert planned(slow, SECOND, rows=rows).starts == []
    assert planned(slow._replace(launched_at=slow.launched_at - 1), SECOND, rows=rows).starts == [SECOND]


def test_a_model_that_loads_again_is_waited_for_as_well() -> None:
    loading = replace(ROW, state=LOADING, ready_at=NOW - 2 * USUAL_BOOT_IN_SECONDS)
    assert planned(UP, SECOND, rows=(loading,)).starts == []


def test_a_machine_that_stops_itself_is_no_help() -> None:
    assert planned(UP, SECOND, rows=(replace(ROW, state=STOPPING),)).starts == [SECOND]


def test_a_stopping_machine_is_started_a_minute_later() -> None:
    assert planned(FIRST._replace(state="stopping")).starts == []


def test_a_set_up_has_the_time_of_the_deployment_file() -> None:
    young = FIRST._replace(state=RUNNING, launched_at=NOW - LIMITS.boot)
    assert planned(young) == TenderPlan([], [], 0)
    old = young._replace(launched_at=young.launched_at - 1)
    assert planned(old) == TenderPlan([], [(old, "its worker never began")], 1)


def test_what_another_instance_of_the_number_wrote_says_nothing() -> None:
    old = FIRST._replace(state=RUNNING, launched_at=NOW - LIMITS.boot - 1)
    before = replace(ROW, instance_id="i-other", seen_at=old.launched_at - 1)
    assert planned(old, rows=(before,)).stops == [(old, "its worker never began")]


NEW = FIRST._replace(id="i-new", state=RUNNING, launched_at=NOW - 700)
REGISTERED = replace(ROW, instance_id="i-new")


def test_a_replaced_machine_ends_its_jobs_in_peace() -> None:
    assert planned(UP, NEW, rows=(REGISTERED,)) == TenderPlan([], [], 0)
    late = NOW - LIMITS.boot - LIMITS.attempt - GRACE_IN_SECONDS
    assert planned(UP, NEW._replace(launched_at=late), rows=(REGISTERED,)) == TenderPlan([], [], 0)
    assert planned(UP, NEW._replace(launched_at=late - 1), rows=(REGISTERED,)) == TenderPlan(
        [], [(UP, "it was replaced and goes on")], 1
    )


def test_a_replaced_machine_ends_its_jobs_in_peace_though_the_other_is_gone() -> None:
    gone = replace(REGISTERED, seen_at=NOW - LIMITS.attempt - GRACE_IN_SECONDS)
    assert planned(UP, rows=(gone,)) == TenderPlan([], [], 0)
    late = replace(gone, seen_at=gone.seen_at - 1)
    assert planned(UP, rows=(late,)).stops == [(UP, "it was replaced and goes on")]
    assert planned(FIRST, rows=(late,)).starts == [FIRST]


def test_a_new_machine_ends_its_jobs_in_peace_though_an_old_one_has_registered_again() -> None:
    again = replace(ROW, instance_id="i-0")
    assert planned(UP._replace(launched_at=NOW - 90_000), NEW, rows=(again,)).stops == []


def test_a_replaced_machine_is_not_started_again() -> None:
    assert planned(FIRST, NEW, rows=(REGISTERED,), work=SOME._replace(messages=9)).starts == []


def test_a_machine_is_started_while_its_replacement_is_set_up() -> None:
    """The machine still has the number, and the set-up of its replacement takes longer than a boot."""
    assert planned(FIRST, NEW, rows=(ROW,)).starts == [FIRST]


def test_beats_before_the_start_say_nothing() -> None:
    just_started = FIRST._replace(state=RUNNING, launched_at=NOW - 60)
    assert planned(just_started, rows=(replace(ROW, seen_at=NOW - 4000),)) == TenderPlan([], [], 0)


def test_a_silent_worker_costs_its_machine_the_run_and_the_next_minute_starts_it_again() -> None:
    silent = replace(ROW, seen_at=NOW - SILENT_IN_SECONDS - 1)
    assert planned(UP, rows=(silent,)) == TenderPlan([], [(UP, "its worker is silent")], 1)
    assert planned(FIRST, rows=(silent,)).starts == [FIRST]


def test_a_model_that_does_not_answer_any_more_has_the_time_of_a_set_up() -> None:
    loading = replace(ROW, state=LOADING, ready_at=NOW - LIMITS.boot)
    assert planned(UP, rows=(loading,)) == TenderPlan([], [], 0)
    assert planned(UP, rows=(replace(loading, ready_at=NOW - LIMITS.boot - 1),)).stops == [
        (UP, "its model does not answer")
    ]


def test_a_machine_that_should_have_stopped_itself_is_stopped() -> None:
    late = replace(ROW, busy_at=NOW - LIMITS.idle - GRACE_IN_SECONDS - 1)
    assert planned(UP, rows=(late,), work=NONE).stops == [(UP, "no work for too long")]
    assert planned(UP, rows=(replace(late, busy_at=late.busy_at + 1),), work=NONE).stops == []


@pytest.mark.parametrize("work", [SOME, Work(False, True, 0)])
def test_no_machine_is_stopped_for_idleness_while_a_job_is_open(work: Work) -> None:
    late = replace(ROW, busy_at=NOW - 50_000)
    long_up = UP._replace(launched_at=NOW - 60_000)
    assert planned(long_up, rows=(late,), work=work).stops == []


def test_a_machine_in_its_set_up_is_not_idle() -> None:
    limits = LIMITS._replace(idle=60)
    setting_up = FIRST._replace(state=RUNNING, launched_at=NOW - 800)
    assert plan([setting_up], {}, NONE, limits, NOW) == TenderPlan([], [], 0)
    loading = replace(ROW, state=LOADING, ready_at=0, busy_at=0)
    assert plan([setting_up], {0: loading}, NONE, limits, NOW) == TenderPlan([], [], 0)


def test_a_machine_that_is_gone_is_unwell_once_it_had_registered() -> None:
    assert planned(SECOND, rows=(ROW, MachineRow(1)), work=NONE).unwell == 1
    assert planned(rows=(MachineRow(0),), work=NONE).unwell == 0

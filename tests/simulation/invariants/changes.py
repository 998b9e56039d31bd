"""Invariants of each single change of a job's row, of each invocation and of each output.

Random trials check them at every committed write, the exploration at every step.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from inference_api.jobs.state import transitions
from simulation.callers.history import Row

Broken = tuple[str, str]  # invariant and story

CHECKED_AT_CHANGES = (
    "i2_an_end_is_final",
    "i4_a_job_with_an_output_never_fails",
    "i4_only_the_deadline_expires",
    "i8_a_cancelled_job_keeps_its_slot_while_it_runs",
    "i9_every_claim_precedes_its_invocation",
)
# Attributes that never change after the end.
_LASTING = ("state", "output", "error_code", "ended_at", "expires_at")


@dataclass(frozen=True)
class Moment:
    """The state at a change: attempts with an output, attempts that run on the model, clock, durations."""

    outputs: Collection[int]
    running: Collection[int]
    now: float
    latest_start: float
    retention: int


def broken_by_change(before: Row | None, after: Row, moment: Moment) -> Iterator[Broken]:
    """Yield the invariants that a change breaks. before: None for a new job."""
    yield from _broken_by_step(before, after, moment) if before else ()
    yield from _broken_by_row(after)


def _broken_by_step(before: Row, after: Row, moment: Moment) -> Iterator[Broken]:
    if not before.is_open:
        changed = [name for name in _LASTING if before.value(name) != after.value(name)]
        if changed:
            yield "i2_an_end_is_final", f"{before.state} became {after.state}; changed: {changed}"
    elif after.attempts > before.attempts:
        yield from _broken_by_claim(before, moment)
    elif after.state in ("FAILED", "EXPIRED"):
        if moment.outputs:
            yield "i4_a_job_with_an_output_never_fails", f"{after.state} although an output exists"
        if after.state == "EXPIRED" and moment.now < before.number("deadline"):
            yield "i4_only_the_deadline_expires", "EXPIRED before its deadline"
        if after.state == "EXPIRED" and before.text("error_code"):
            yield "i4_only_the_deadline_expires", "EXPIRED although an error is known"
    elif after.state == "SUCCEEDED" and after.output_attempt not in moment.outputs:
        yield "i3_a_success_has_its_output", "SUCCEEDED without an output"
    if after.state == "CANCELLED" and after.holds_slot:
        kept_until = int(after.number("deadline")) + moment.retention
        if after.number("expires_at") < kept_until:
            yield "i5_nothing_is_deleted_before_its_time", "it may be deleted while it holds its slot"
    freed_early = before.holds_slot and not after.holds_slot and moment.now < before.number("deadline")
    if after.state == "CANCELLED" and freed_early and moment.running:
        yield "i8_a_cancelled_job_keeps_its_slot_while_it_runs", "its slot is free while the model works on it"


def broken_by_output(row: Row | None) -> Iterator[Broken]:
    """Yield the invariants that the writing of an output breaks."""
    if row and row.state in ("FAILED", "EXPIRED"):
        yield "i4_a_job_with_an_output_never_fails", f"an output comes although the job is {row.state}"


def broken_by_invocation(row: Row | None, attempt: int, earlier: int, now: float) -> Iterator[Broken]:
    """Yield the invariants that an invocation breaks. earlier: the number of invocations of the attempt before it."""
    name = "i9_every_claim_precedes_its_invocation"
    if row is None or not 1 <= attempt <= row.attempts:
        yield name, f"attempt {attempt} is invoked without a claim"
    elif not row.holds_slot and now < row.number("deadline") and row.state == "CANCELLED":
        yield "i8_a_cancelled_job_keeps_its_slot_while_it_runs", "it is invoked although its slot is free"
    if attempt > 3:
        yield name, f"attempt {attempt} is invoked"
    if earlier:
        yield name, f"attempt {attempt} is invoked again"


def _broken_by_row(row: Row) -> Iterator[Broken]:
    if row.is_open:
        if not row.has("due_at"):
            yield "i1_every_job_ends_in_time", "an open job that the sweeper never looks at"
        if row.has("expires_at"):
            yield "i5_nothing_is_deleted_before_its_time", f"may be deleted although it is {row.state}"
        if not row.holds_slot:
            yield "i8_slots_equal_unfinished_work", "an open job without a slot"
    else:
        if row.holds_slot and (row.state != "CANCELLED" or len(row.ended) >= row.attempts):
            yield "i8_slots_equal_unfinished_work", f"{row.state} keeps a slot for no attempt"
        at_rest = row.flag("announced") and not row.holds_slot
        if row.has("due_at") == at_rest:
            yield "i1_every_job_ends_in_time", "an ended job is due although it is at rest, or not due before"
    if (row.state == "SUCCEEDED") != bool(row.output_attempt):
        yield "i3_a_success_has_its_output", f"{row.state} with output {row.output_attempt}"
    if row.state == "FAILED" and not row.text("error_code"):
        yield "i4_only_the_deadline_expires", "FAILED without an error"
    if row.attempts > transitions.MAX_ATTEMPTS or not row.ended <= set(range(1, row.attempts + 1)):
        yield "i9_every_claim_precedes_its_invocation", f"{row.attempts} attempts, ended {sorted(row.ended)}"


def _broken_by_claim(before: Row, moment: Moment) -> Iterator[Broken]:
    if moment.now > moment.latest_start:
        yield "i4_a_job_with_an_output_never_fails", "an attempt is claimed that may not end before the deadline"
    if before.attempts and before.number("marked") == before.attempts and before.attempts in moment.running:
        yield "i9_every_claim_precedes_its_invocation", "another attempt is claimed while a confirmed one runs"

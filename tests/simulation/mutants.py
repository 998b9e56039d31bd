"""Mutants: the shipped transitions with a few words of their source replaced. The exploration finds each."""

import inspect
import sys
from types import FunctionType, ModuleType
from typing import NamedTuple

import pytest

from inference_api.jobs import submission, transitions

ASYNC, REALTIME = "async", "realtime"
ENDS_IN_TIME, FINAL = "i1_every_job_ends_in_time", "i2_an_end_is_final"
NO_BAD_END = "i4_nothing_ends_badly_that_has_an_output"
SLOTS, BUSY = "i8_slots_equal_unfinished_work", "i8_a_cancelled_job_keeps_its_slot_while_it_runs"
CLAIMED = "i9_every_claim_precedes_its_invocation"


class Mutant(NamedTuple):
    """`new` stands in place of `old`, in one mode; `breaks` is the invariant that is found broken first."""

    mode: str
    name: str
    breaks: str
    old: str
    new: str
    attempts: int = 2
    at_once: int = 1

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        plant_life(patch, (self.old, self.new), ("MAX_ATTEMPTS = 3", f"MAX_ATTEMPTS = {self.attempts}"))

    def __str__(self) -> str:
        return f"{self.mode}: {self.name}"


def plant_life(patch: pytest.MonkeyPatch, *replacements: tuple[str, str]) -> None:
    """Change the source of the shipped transitions for a while. Each old text stands in it exactly once."""
    source = inspect.getsource(transitions)
    for old, new in replacements:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in transitions.py"
        source = source.replace(old, new)
    life = ModuleType("inference_api.mutated_transitions")
    patch.setitem(sys.modules, life.__name__, life)  # dataclasses look their module up
    exec(compile(source, life.__name__, "exec"), life.__dict__)
    patch.setattr(transitions, "MAX_ATTEMPTS", life.MAX_ATTEMPTS)
    for name, value in vars(life).items():
        if isinstance(value, FunctionType) and value.__module__ == life.__name__:
            patch.setattr(transitions, name, value)
    patch.setattr(submission, "accept", life.accept)


MUTANTS = [
    Mutant(REALTIME, "lost messages stay noted", ENDS_IN_TIME, "return replace(job, sent=False) if", "return None if"),
    Mutant(
        ASYNC, "claims have no end", CLAIMED, "is_open or job.attempts >= MAX_ATTEMPTS or", "is_open or", attempts=1
    ),
    Mutant(
        ASYNC,
        "claims come too late",
        NO_BAD_END,
        "job.refused or now > policy.latest_start(job):\n        return None",
        "job.refused:\n        return None",
    ),
    Mutant(
        ASYNC,
        "the lease binds nobody",
        ENDS_IN_TIME,
        "(now < job.lease_until or job.marked ==",
        "(job.marked ==",
        at_once=2,
    ),
    Mutant(
        ASYNC,
        "confirmed attempts are lost",
        CLAIMED,
        "(now < job.lease_until or job.marked == job.attempts)",
        "now < job.lease_until",
    ),
    Mutant(ASYNC, "an older attempt bars the next", ENDS_IN_TIME, " and not newest_has_ended and", " and", attempts=3),
    Mutant(
        ASYNC,
        "what is given back concludes nothing",
        ENDS_IN_TIME,
        "return _conclude(_settle(replace(job, attempts=attempt - 1, lease_until=0), now), now, policy)",
        "return _settle(replace(job, attempts=attempt - 1, lease_until=0), now)",
        at_once=2,
    ),
    Mutant(
        ASYNC, "refusals are forgotten", ENDS_IN_TIME, "refused=job.refused or refused", "refused=refused", attempts=3
    ),
    Mutant(ASYNC, "refusals conclude nothing", ENDS_IN_TIME, "if job.refused or job.attempts >=", "if job.attempts >="),
    Mutant(
        ASYNC,
        "the job fails while an attempt runs",
        ENDS_IN_TIME,
        "not job.is_open or job.may_be_running or not",
        "not job.is_open or not",
    ),
    Mutant(ASYNC, "the job fails early", ENDS_IN_TIME, ">= MAX_ATTEMPTS or now >", ">= MAX_ATTEMPTS - 1 or now >"),
    Mutant(
        ASYNC,
        "outputs change the end",
        FINAL,
        "    if job.is_open:\n        return replace(_ended(job, SUCCEEDED",
        "    if True:\n        return replace(_ended(job, SUCCEEDED",
    ),
    Mutant(
        ASYNC,
        "cancelling changes the end",
        FINAL,
        'so the slot stays taken."""\n    if not job.is_open:',
        'so the slot stays taken."""\n    if False:',
    ),
    Mutant(ASYNC, "success keeps the slot", SLOTS, "output=output, holds_slot=False)", "output=output)"),
    Mutant(ASYNC, "cancelling frees the slot", BUSY, "holds_slot=job.may_be_running)", "holds_slot=False)"),
    Mutant(ASYNC, "cancelling keeps the slot", SLOTS, ", holds_slot=job.may_be_running)", ")"),
    Mutant(ASYNC, "any end frees the slot", BUSY, "return job if job.may_be_running else _rest(", "return _rest("),
    Mutant(ASYNC, "errors expire", "i4_only_the_deadline_expires", "FAILED if job.error_code else EXPIRED", "EXPIRED"),
    Mutant(
        ASYNC,
        "the deadline frees no slot",
        ENDS_IN_TIME,
        "_rest(replace(job, holds_slot=False)) if job.holds_slot else None",
        "None",
    ),
    Mutant(ASYNC, "rest with a slot", ENDS_IN_TIME, "job.announced and not job.holds_slot else", "job.announced else"),
    Mutant(
        ASYNC,
        "rest before it is told",
        ENDS_IN_TIME,
        "job.announced and not job.holds_slot else",
        "not job.holds_slot else",
    ),
    Mutant(
        ASYNC,
        "cancelled rows go early",
        "i5_nothing_is_deleted_before_its_time",
        "job.deadline if state == CANCELLED else now",
        "now",
    ),
]

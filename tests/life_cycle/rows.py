"""Rows as the exploration sees them, and the shipped transitions from one to the next."""

from dataclasses import fields
from types import ModuleType
from typing import Any

from inference_api.jobs.job import ACCEPTED, CANCELLED, Job, Output

CLAIMS, TOO_LATE, LAST_MOMENTS, OVERDUE = range(4)
DEADLINE, INVOCATION_TIMEOUT, RETENTION = 3600, 900, 7200
LATEST_START = DEADLINE - INVOCATION_TIMEOUT - 300
NOW = {CLAIMS: 60, TOO_LATE: LATEST_START + 1, LAST_MOMENTS: DEADLINE - 1, OVERDUE: DEADLINE}
JOB_ID = "0" * 32
LEASE_HELD = float("inf")
BEFORE_ANY_LEASE = -1  # a moment at which the lease of the newest claim was not over
SOON, AFTER_DEADLINE = 1, 2  # what is left of `expires_at`
NAMES = [field.name for field in fields(Job)]


class Row(Job):
    """A row without what decides nothing: the version, the writer, the times. Equal rows are one object.

    due_at: 0 where the sweeper will look, since it may look at any moment from then on. lease_until: infinite until
    the moment at which the lease runs out.
    """

    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Rows:
    """The transitions of `life`, the shipped module or a mutant of it; each step between two rows is computed once."""

    def __init__(self, life: ModuleType, *, claims_at_acceptance: bool) -> None:
        self._life, self._claims_at_acceptance = life, claims_at_acceptance
        self._policy = life.JobPolicy(DEADLINE, RETENTION, INVOCATION_TIMEOUT)
        self._known: dict[tuple[Any, ...], Row] = {}
        self._computed: dict[tuple[Any, ...], Row | None] = {}

    def __len__(self) -> int:
        return len(self._known)

    def accepted(self) -> Row:
        """The row that the submitting function writes."""
        job = self._life.accept(JOB_ID, "owner", 0, self._policy)
        if self._claims_at_acceptance:
            job = self._life.claim(job, 0, self._policy) or job
        return self._row(job)

    def after(self, row: Row, clock: int, transition: str, *args: Any) -> Row | None:
        """What the transition makes of the row, None where it is not allowed."""
        key = (row, clock, transition, args)
        if key not in self._computed:
            job = self._decide(row, NOW[clock], transition, *args)
            self._computed[key] = None if job is None else self._row(job)
        return self._computed[key]

    def without_lease(self, row: Row) -> Row:
        """The row once the lease of its last claim has run out."""
        return self._row(row, lease_until=0)

    def _decide(self, row: Row, now: float, transition: str, *args: Any) -> Job | None:
        life, policy = self._life, self._policy
        job: Job | None
        match transition:
            case "claim" | "cancel" | "expire":
                job = getattr(life, transition)(row, now, policy)
            case "give_back":
                job = life.give_back(row, *args, now, policy)
            case "lose":
                attempt, lease_was_over = args
                job = life.lose_attempt(row, attempt, "error", now if lease_was_over else BEFORE_ANY_LEASE, policy)
            case "succeed":
                job = life.succeed(row, output_of(*args), now, policy)
            case "fail":
                job = life.fail_attempt(row, *args, "error", now, policy)
            case "refuse":
                job = life.fail_attempt(row, *args, "error", now, policy, refused=True)
            case "look_again":
                job = life.look_again(row, now)
            case _:
                job = getattr(life, transition)(row, *args)
        return job

    def _row(self, job: Job, **changes: Any) -> Row:
        values = {name: getattr(job, name) for name in NAMES} | changes
        leased = job.is_open or (job.holds_slot and not self._claims_at_acceptance)
        values |= {
            "version": 0,
            "writer": "",
            "due_at": None if job.due_at is None else 0,
            "lease_until": LEASE_HELD if leased and job.may_be_running and values["lease_until"] > 0 else 0,
            "sent": job.sent and job.state == ACCEPTED,  # it is set anew before it is asked for again
            "error_attempt": 0,
            "ended_at": None if job.ended_at is None else 0,
            "expires_at": job.expires_at and _coarse(job.expires_at),
        }
        if job.state == CANCELLED:
            values |= {"error_code": None, "refused": False}
            values["marked"] = 0 if job.marked in job.ended else job.marked
        return self._known.setdefault(tuple(values.values()), Row(**values))


def output_of(attempt: int) -> Output:
    return Output(f"output/job/{attempt}/answer", "1", "etag", 1, "application/json", attempt, True)


def _coarse(expires_at: int) -> int:
    if expires_at in (SOON, AFTER_DEADLINE):
        return expires_at
    return AFTER_DEADLINE if expires_at >= DEADLINE + RETENTION else SOON

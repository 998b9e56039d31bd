"""One job and all that is under way around it, at one moment."""

from typing import NamedTuple

from inference_api.jobs.job import ACCEPTED
from life_cycle.rows import CLAIMS, Row

# What has become of a claimed attempt at the model. Of one that is over nothing more is ever heard.
UNUSED, RUNNING, OUTPUT, REFUSED, FAILED, OVER = "-", "r", "o", "4", "5", "x"


class Broken(Exception):
    """A promise that a step has broken."""


class Seen(NamedTuple):
    """What a sweeper still needs of the row it has read, or written, last."""

    is_open: bool
    holds_slot: bool
    announced: bool
    marked: int
    waiting: bool
    sent: bool
    lease_over: bool

    @classmethod
    def of(cls, row: Row) -> "Seen":
        waiting = row.state == ACCEPTED
        return cls(row.is_open, row.holds_slot, row.announced, row.marked, waiting, row.sent, row.lease_until == 0)


class Process(NamedTuple):
    """A function under way, by the call that it makes next.

    rest: the attempts whose outputs a sweeper has yet to look for. holds_message: one of the job queue, which comes
    back when the function dies.
    """

    call: str
    attempt: int = 0
    rest: tuple[int, ...] = ()
    seen: Seen | tuple[()] = ()
    holds_message: bool = False
    sweeps: bool = False

    @property
    def lease_was_over(self) -> bool:
        """At the moment that a sweeper noted before it read the row, for the claim that is now the newest."""
        return isinstance(self.seen, Seen) and self.seen.lease_over

    @property
    def before_the_lease(self) -> "Process":
        """As it is once another lease has begun."""
        if not isinstance(self.seen, Seen) or not self.seen.lease_over:
            return self
        return self._replace(seen=self.seen._replace(lease_over=False))

    def __str__(self) -> str:
        who = "sweeper: " if self.sweeps else ""
        return f"{who}{self.call}{f' {self.attempt}' if self.attempt else ''}"


class World(NamedTuple):
    """attempts: a letter for each claimed one. queued: the job queue holds a message. told: the event of its end is
    out. taken: what the job has added to its owner's counter. answered: its caller has been told that it is accepted.
    """

    row: Row | None = None
    attempts: str = ""
    queued: bool = False
    processes: tuple[Process, ...] = ()
    clock: int = CLAIMS
    told: bool = False
    taken: int = 0
    answered: bool = False

    def plus(self, process: Process) -> "World":
        return self._replace(processes=tuple(sorted((*self.processes, process))))

    def minus(self, process: Process) -> "World":
        at = self.processes.index(process)
        return self._replace(processes=self.processes[:at] + self.processes[at + 1 :])

    def fate(self, attempt: int) -> str:
        return self.attempts[attempt - 1 : attempt]

    def with_fate(self, attempt: int, fate: str) -> "World":
        return self._replace(attempts=self.attempts[: attempt - 1] + fate + self.attempts[attempt:])

    @property
    def job(self) -> Row:
        """The row, where there is one."""
        assert self.row is not None
        return self.row

    @property
    def tended(self) -> bool:
        """Attempts still matter to the job."""
        return self.row is not None and (self.row.is_open or self.row.holds_slot)

    @property
    def holds_slot(self) -> bool:
        """Counts, or should count, against its owner's open jobs."""
        return self.row is not None and self.row.holds_slot

    @property
    def settled(self) -> bool:
        """Nothing is left to do for the job."""
        return self.told and self.job.announced and not self.job.holds_slot

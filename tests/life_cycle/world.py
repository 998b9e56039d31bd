"""One job and all that is under way around it, at one moment."""

from typing import NamedTuple

from inference_api.job import ACCEPTED, Job
from life_cycle.rows import CLAIMS, Row

# What has become of a claimed attempt at the model.
UNUSED, RUNNING, OUTPUT, REFUSED, FAILED, GONE = "-", "r", "o", "4", "5", "x"


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

    rest: the attempts that a sweeper has yet to look for. holds_message: the message comes back when the function dies.
    """

    call: str
    attempt: int = 0
    rest: tuple[int, ...] = ()
    seen: Seen | tuple[()] = ()
    holds_message: bool = False
    sweeps: bool = False

    def __str__(self) -> str:
        who = "sweeper: " if self.sweeps else ""
        return f"{who}{self.call}{f' {self.attempt}' if self.attempt else ''}"


class World(NamedTuple):
    """attempts: a letter for each claimed one. messages: the attempts that notifications wait to tell of; in queue
    mode, a 0 for each message of the job. told: the event of its end is out.
    """

    row: Row | None = None
    attempts: str = ""
    messages: tuple[int, ...] = ()
    processes: tuple[Process, ...] = ()
    clock: int = CLAIMS
    told: bool = False

    def plus(self, process: Process) -> "World":
        return self._replace(processes=tuple(sorted((*self.processes, process))))

    def minus(self, process: Process) -> "World":
        at = self.processes.index(process)
        return self._replace(processes=self.processes[:at] + self.processes[at + 1 :])

    def say(self, message: int) -> "World":
        return self._replace(messages=tuple(sorted((*self.messages, message))))

    def unsay(self, message: int) -> "World":
        at = self.messages.index(message)
        return self._replace(messages=self.messages[:at] + self.messages[at + 1 :])

    def fate(self, attempt: int) -> str:
        return self.attempts[attempt - 1 : attempt]

    def with_fate(self, attempt: int, fate: str) -> "World":
        return self._replace(attempts=self.attempts[: attempt - 1] + fate + self.attempts[attempt:])

    @property
    def is_settled(self) -> bool:
        """Nothing is left to do for the job."""
        return self.row is not None and self.told and self.row.announced and not self.row.holds_slot


def tended(job: Job) -> bool:
    """Attempts still matter to it."""
    return job.is_open or job.holds_slot

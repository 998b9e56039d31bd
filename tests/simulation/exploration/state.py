"""Canonical states: table, attempts, messages and running functions."""

from typing import NamedTuple

# The fates of an attempt on the model. OVER: it will bring neither output nor error.
RUNNING, OUTPUT, REFUSED, FAILED, OVER = "running", "output", "refused", "failed", "over"
# Phases of the deadline: attempts can be claimed; none can; all are over; it has passed.
CLAIMS, TOO_LATE, LAST_MOMENTS, OVERDUE = range(4)

Attempt = tuple[str, int]  # job and number


class Task(NamedTuple):
    """A running function. history: the number of its event and answers. holds: the job of the message it holds.

    before: the jobs claimed since its start. A lease outlives every function, so those leases end after this task.
    """

    history: int
    holds: str = ""
    before: tuple[str, ...] = ()


class State(NamedTuple):
    """A canonical state: two states are equal if no later step can tell them apart.

    items: the table's items as numbers, by key. announced: jobs with an event. submissions: the number started.
    machine: EC2's state of the only one. boots: its worker's process is new. trusted: jobs whose sender saw it alive.
    """

    items: tuple[tuple[str, int], ...] = ()
    fates: tuple[tuple[Attempt, str], ...] = ()
    queued: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    announced: tuple[str, ...] = ()
    phase: int = CLAIMS
    submissions: int = 0
    machine: str = ""
    boots: bool = False
    trusted: tuple[str, ...] = ()

    def plus(self, task: Task) -> "State":
        return self._replace(tasks=tuple(sorted((*self.tasks, task))))

    def minus(self, task: Task) -> "State":
        at = self.tasks.index(task)
        return self._replace(tasks=self.tasks[:at] + self.tasks[at + 1 :])

    def fate(self, attempt: Attempt) -> str | None:
        return dict(self.fates).get(attempt)

    def with_fate(self, attempt: Attempt, fate: str) -> "State":
        return self._replace(fates=tuple(sorted((dict(self.fates) | {attempt: fate}).items())))

    def with_message(self, job: str) -> "State":
        return self._replace(queued=tuple(sorted({*self.queued, job})))

    def without_message(self, job: str) -> "State":
        return self._replace(queued=tuple(each for each in self.queued if each != job))

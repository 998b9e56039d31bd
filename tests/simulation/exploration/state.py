"""All that matters of one moment: table, attempts, messages, functions under way."""

from typing import NamedTuple

# What has become of an attempt at the model. Of one that is over nothing more is ever heard.
RUNNING, OUTPUT, REFUSED, FAILED, OVER = "running", "output", "refused", "failed", "over"
# Phases of the deadline: attempts can be claimed; none can; all are over; it has passed.
CLAIMS, TOO_LATE, LAST_MOMENTS, OVERDUE = range(4)

Attempt = tuple[str, int]  # job and number


class Task(NamedTuple):
    """A function under way. `history` numbers its event and answers; `holds` names the job whose message it holds.

    before: the jobs claimed since it began. A lease is longer than any function lives, so none of those leases runs
    out before this function has ended.
    """

    history: int
    holds: str = ""
    before: tuple[str, ...] = ()


class State(NamedTuple):
    """Canonical: two states are equal if no later step can tell them apart.

    items: numbers of the table's items by key. told: the jobs of which an event was put. submissions: how many began.
    """

    items: tuple[tuple[str, int], ...] = ()
    fates: tuple[tuple[Attempt, str], ...] = ()
    queued: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    told: tuple[str, ...] = ()
    phase: int = CLAIMS
    submissions: int = 0

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

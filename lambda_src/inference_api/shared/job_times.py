"""The times that limit a job, from the deployment's settings."""

from dataclasses import dataclass

# Time before the deadline in which an attempt that started last and timed out is noticed.
MARGIN_IN_SECONDS = 300


@dataclass(frozen=True)
class JobTimes:
    """The durations in a job's life, in seconds.

    deadline: from acceptance to the deadline. retention: how long an ended job is kept. invocation_timeout: the longest
    call of the model.
    """

    deadline: int
    retention: int
    invocation_timeout: int

    def kept_until(self, end: float, at_least: int = 0) -> int:
        """Return when everything about a job that ended at `end` may be deleted, in seconds since the epoch.

        at_least: keep it until then, because its batch needs it.
        """
        return max(int(end) + self.retention, at_least)

    def latest_start(self, deadline: float) -> float:
        """Return the last moment at which an attempt may be claimed. deadline: the job's. Seconds since the epoch."""
        return deadline - self.invocation_timeout - MARGIN_IN_SECONDS

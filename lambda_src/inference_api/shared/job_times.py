"""The times that decide about a job, from the deployment's settings."""

from dataclasses import dataclass

# An attempt that starts at the last moment and times out is over, and noticed, before the deadline.
MARGIN_IN_SECONDS = 300


@dataclass(frozen=True)
class JobTimes:
    """In seconds.

    deadline: from acceptance to the deadline. retention: how long an ended job is kept. invocation_timeout: the longest
    call of the model.
    """

    deadline: int
    retention: int
    invocation_timeout: int

    def kept_until(self, end: float, at_least: int = 0) -> int:
        """When everything about a job that ended at `end` may be deleted, in seconds of the epoch.

        at_least: until when a batch needs its lines' jobs.
        """
        return max(int(end) + self.retention, at_least)

    def latest_start(self, deadline: float) -> float:
        """The last moment at which an attempt may be claimed. deadline: the job's, in seconds of the epoch."""
        return deadline - self.invocation_timeout - MARGIN_IN_SECONDS

"""The deployment's settings of jobs that decide on transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # functions that know no jobs read this with their settings, and start faster without the rest
    from inference_api.jobs.state.job import Job

# An attempt that starts at the last moment and times out is over, and noticed, before the deadline.
MARGIN_IN_SECONDS = 300


@dataclass(frozen=True)
class JobPolicy:
    """In seconds."""

    deadline: int
    retention: int
    invocation_timeout: int

    def kept_until(self, end: float) -> int:
        """When everything about a job with this end may be deleted, in whole seconds of the epoch."""
        return int(end) + self.retention

    def job_kept_until(self, job: Job, end: float) -> int:
        """The same for a job that ends then: a batch needs its lines' jobs until it ends itself."""
        return max(self.kept_until(end), job.keep_until)

    def latest_start(self, job: Job) -> float:
        """The last moment at which an attempt may be claimed."""
        return job.deadline - self.invocation_timeout - MARGIN_IN_SECONDS

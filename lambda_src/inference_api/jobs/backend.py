"""What stands behind the job API, seen from there: a queue with workers, or an asynchronous endpoint."""

from typing import Protocol

from inference_api.jobs.job import Job


class JobBackend(Protocol):
    """Takes jobs whose row is stored. What it cannot do now, the sweeper asks for again."""

    def claim_at_acceptance(self, job: Job) -> Job:
        """The row as it is to be stored first."""
        ...

    def dispatch(self, job: Job) -> None:
        """Hand over a job that was just accepted."""
        ...

    def tend(self, job: Job) -> None:
        """Hand over an open job again if it needs that."""
        ...

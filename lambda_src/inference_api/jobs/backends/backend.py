"""The backend of the job API: a queue with workers, machines that sleep, or an asynchronous endpoint."""

from typing import Protocol

from inference_api.jobs.state.job import Job


class JobBackend(Protocol):
    """Takes jobs whose row is stored. If it fails, the sweeper asks again."""

    def claim_at_acceptance(self, job: Job) -> Job:
        """The row to store first, with an attempt claimed or not."""
        ...

    def dispatch(self, job: Job) -> None:
        """Hand over a job that has just been accepted."""
        ...

    def tend(self, job: Job) -> None:
        """Hand over an open job again if it needs that."""
        ...

    def end_without_output(self, job: Job, attempt: int, looked_at: float) -> Job:
        """End an attempt that had no output at `looked_at`, if it can't bring one any more."""
        ...

    def seconds_until_ready(self) -> int:
        """Until the model is likely to begin with a queued job; 0 where it runs, or nobody can tell."""
        ...

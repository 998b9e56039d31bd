"""The backend of the job API: a queue with workers, machines that sleep, or an asynchronous endpoint."""

from typing import Protocol

from inference_api.jobs.state.job import Job


class JobBackend(Protocol):
    """Hands stored jobs to the model. If that fails, the sweeper tries again."""

    def claim_at_acceptance(self, job: Job) -> Job:
        """Return the row to store at acceptance, with or without a claimed attempt."""
        ...

    def dispatch(self, job: Job) -> None:
        """Hand over a job that has just been accepted."""
        ...

    def tend(self, job: Job) -> None:
        """Hand over an open job again if that is needed."""
        ...

    def end_without_output(self, job: Job, attempt: int, looked_at: float) -> Job:
        """End an attempt that had no output at `looked_at`, if it can't bring one any more."""
        ...

    def seconds_until_ready(self) -> int:
        """Return the seconds until the model is likely to begin with a queued job; 0 if it runs, or if unknown."""
        ...

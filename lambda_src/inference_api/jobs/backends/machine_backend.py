"""The queue in front of machines that sleep: who sends a job's message wakes one."""

from typing import Any

from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.state.job import Job
from inference_api.machines.readiness import Readiness
from inference_api.machines.starter import Starter


class MachineBackend(QueueBackend):
    """Where the sweeper sends a message again it leaves the machines to the tender, which runs each minute, too."""

    def __init__(self, client: Any, url: str, *, starter: Starter, readiness: Readiness, **parts: Any) -> None:
        super().__init__(client, url, **parts)
        self._starter, self._readiness = starter, readiness

    def dispatch(self, job: Job) -> None:
        """Send the job's message, then wake a machine: one that goes down in between has looked before."""
        self._hand_over(job)
        self._starter.wake()

    def seconds_until_ready(self) -> int:
        """0 while a machine takes jobs, else what is left of the usual boot."""
        return self._readiness.seconds_until_ready()

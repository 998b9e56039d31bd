"""The queue in front of machines that sleep: sending a new job's message wakes one."""

from typing import Any

from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.state.job import Job
from inference_api.machines.readiness import Readiness
from inference_api.machines.starter import Starter


class MachineBackend(QueueBackend):
    """Hands jobs to machines, and wakes one for a new job.

    A message that the sweeper sends again wakes none. That is left to the tender, which also runs each minute.
    """

    def __init__(self, client: Any, url: str, *, starter: Starter, readiness: Readiness, **parts: Any) -> None:
        super().__init__(client, url, **parts)
        self._starter, self._readiness = starter, readiness

    def dispatch(self, job: Job) -> None:
        """Send the job's message, then wake a machine.

        In this order no message is missed: a machine that stops says so first, and then looks for messages once more.
        """
        self._hand_over(job)
        self._starter.wake()

    def seconds_until_ready(self) -> int:
        """Return the seconds until a machine is likely to take jobs; 0 if one does."""
        return self._readiness.seconds_until_ready()

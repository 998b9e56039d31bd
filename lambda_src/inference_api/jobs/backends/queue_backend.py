"""The queue in front of workers: its messages are hints, the job's row is the truth."""

import json
from collections.abc import Callable
from typing import Any

from inference_api.jobs.state import transitions
from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.job import QUEUED, Job
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.state.transitions import LONGEST_LOOK_IN_SECONDS
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime

_LONGEST_WAIT_IN_SECONDS = 60
# Longer than the queue hides the message of a worker that has died (540 s).
_COMES_BACK_IN_SECONDS = 600
_DOUBLED_WAITS = 5  # a job may wait thousands of times, and 2 to the power of that is too large for a float


class QueueBackend:
    """Hands jobs to the workers. Each owner is a message group, so that the queue is fair between owners.

    until_ready: returns the seconds until a model that sleeps is likely to answer; None = the model never sleeps.
    """

    def __init__(
        self,
        client: Any,
        url: str,
        *,
        table: JobTable,
        completion: Completion,
        times: JobTimes,
        runtime: Runtime,
        until_ready: Callable[[], int] | None = None,
    ) -> None:
        self._client, self._url, self._table, self._completion = client, url, table, completion
        self._times, self._runtime, self._until_ready = times, runtime, until_ready

    def claim_at_acceptance(self, job: Job) -> Job:
        """Return the job as it is: only a worker claims."""
        return job

    def dispatch(self, job: Job) -> None:
        """Send the job's message, then note that in its row."""
        self._hand_over(job)

    def dispatch_later(self, job: Job, waits: int) -> None:
        """Send the job's message with a delay that grows with the number of times that the job has waited."""
        longest = _LONGEST_WAIT_IN_SECONDS if waits > _DOUBLED_WAITS else 2**waits
        self._send(job, delay=round(self._runtime.random.uniform(longest / 2, longest)), waits=waits + 1)
        self._note_sent(job)

    def tend(self, job: Job) -> None:
        """Send the message again if it was never sent, or is gone.

        A message is known to be gone if the queue is empty. Otherwise it is sent again each time that the job's age has
        doubled, and shortly before it is too late to start. So a job that just waits in a long queue gets few messages.
        """
        if job.state != QUEUED:
            return
        now = self._runtime.now()
        is_last_look = self._times.latest_start(job.deadline) - now < LONGEST_LOOK_IN_SECONDS
        is_old = now - job.sent_at >= max(_COMES_BACK_IN_SECONDS, (now - job.accepted_at) / 2)
        if is_last_look or is_old or self._is_empty():
            self._hand_over(job)

    def end_without_output(self, job: Job, attempt: int, looked_at: float) -> Job:
        """End the attempt as lost if its lease was over at `looked_at`, because its worker has ended by then."""
        return self._completion.lose_attempt(job, attempt, looked_at) if looked_at >= job.lease_until else job

    def seconds_until_ready(self) -> int:
        """Return the seconds until a model that sleeps is likely to answer; 0 if it runs, or never sleeps."""
        return self._until_ready() if self._until_ready else 0

    def count_waiting(self) -> int:
        """Return about how many messages could be received now."""
        return self._counts("")[0]

    def hide(self, receipt: str, seconds: int) -> None:
        """Let a message that could not be handled come back after `seconds`."""
        self._client.change_message_visibility(QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=seconds)

    def _hand_over(self, job: Job) -> None:
        self._send(job, delay=0, waits=0)
        self._note_sent(job)

    def _note_sent(self, job: Job) -> None:
        self._table.change(job, lambda row: transitions.note_sent(row, self._runtime.now()))

    def _send(self, job: Job, delay: int, waits: int) -> None:
        self._client.send_message(
            QueueUrl=self._url,
            MessageBody=json.dumps({"job": job.id, "waits": waits}),
            MessageGroupId=job.owner,
            DelaySeconds=delay,
        )

    def _is_empty(self) -> bool:
        return not any(self._counts("", "NotVisible", "Delayed"))

    def _counts(self, *kinds: str) -> list[int]:
        names = [f"ApproximateNumberOfMessages{kind}" for kind in kinds]
        counts = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=names)["Attributes"]
        return [int(count) for count in counts.values()]

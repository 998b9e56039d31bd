"""The recorder of an asynchronous endpoint: a notification is a hint, the bucket is the truth."""

import json
import re
from dataclasses import dataclass

from inference_api.jobs.service import JobService
from inference_api.jobs.state.job import Job
from inference_api.model.deployed_engine import count_call
from inference_api.shared import errors
from inference_api.shared.settings import settings
from inference_api.shared.tracing import begin, continued

_INFERENCE_ID = re.compile(r"([0-9a-f]{32})\.([1-9])")
# "ClientError: Received client error (400) from model. See the SageMaker Endpoint logs ..." as users quote it.
_CONTAINER_STATUS = re.compile(r"Received (?:client|server) error \(([0-9]{1,3})\)")


@dataclass(frozen=True)
class Notification:
    """A message of the endpoint's success or error topic. reason: SageMaker's text about a failure."""

    job_id: str
    attempt: int
    failed: bool
    output_location: object
    reason: str

    @classmethod
    def read(cls, body: str) -> "Notification | None":
        """Parse a message. Return None if it is not about a job of ours."""
        try:
            message = json.loads(body)
            known = _INFERENCE_ID.fullmatch(message["inferenceId"])
            failed = message["invocationStatus"] == "Failed"
            location = (message.get("responseParameters") or {}).get("outputLocation")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if known is None:
            return None
        return cls(known[1], int(known[2]), failed, location, str(message.get("failureReason") or ""))

    @property
    def container_status(self) -> int | None:
        """The status of the model's container, if SageMaker names it."""
        status = _CONTAINER_STATUS.search(self.reason)
        return int(status[1]) if status else None


class OutputMissingError(Exception):
    """A success was announced, but no output is found in the bucket."""


def record(notification: Notification, service: JobService) -> bool:
    """Record the attempt's output or failure. Return False for an unknown job, for which nothing is created.

    Raises OutputMissingError.
    """
    job = service.table.get(notification.job_id)
    if job is None or notification.attempt > job.attempts:
        return False
    with continued(job.trace, "record_result", job=job.id):
        return _record(job, notification, service)


def _record(job: Job, notification: Notification, service: JobService) -> bool:
    attempt = notification.attempt
    if attempt in job.ended or not (job.is_open or job.holds_slot):
        return True
    # SageMaker tells nothing of the time between: its queue, a start of an instance, the model.
    waited = begin("model", remote=True, since=job.claimed_at, attempt=attempt, endpoint=settings().endpoint_name)
    if notification.failed:
        words = service.files.read_failure(job.failure_key) if job.failure_key and job.marked == attempt else None
        # SageMaker's reason is dropped: like all of AWS's texts it can name accounts and resources.
        failure = errors.container_error(notification.container_status, words or "")
        waited.end(failure)
        service.completion.fail_attempt(job, attempt, failure)
        count_call(failure)  # last: a message that comes again counts once
        return True
    announced_key = service.files.key_of(notification.output_location, "output")
    found = service.files.find_output(job, attempt, announced_key)
    if not found:
        raise OutputMissingError
    waited.end()
    service.completion.succeed(job, *found)
    count_call(None)
    return True

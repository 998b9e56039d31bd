"""Results of an asynchronous endpoint: a notification is a hint, what lies in the bucket is the truth."""

import json
import re
from dataclasses import dataclass

from inference_api.endpoint_client import REFUSED_BY_MODEL, TOO_SLOW
from inference_api.jobs.completion import Failure
from inference_api.jobs.service import JobService

_INFERENCE_ID = re.compile(r"([0-9a-f]{32})\.([1-9])")
# "ClientError: Received client error (400) from model. See the SageMaker Endpoint logs ..." as users quote it.
_CONTAINER_STATUS = re.compile(r"Received (?:client|server) error \(([0-9]{1,3})\)")


@dataclass(frozen=True)
class Notification:
    """One message of the endpoint's success or error topic."""

    job_id: str
    attempt: int
    failed: bool
    output_location: str | None
    reason: str

    @classmethod
    def read(cls, body: str) -> "Notification | None":
        """None for a message that is about no job of ours."""
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


def record(notification: Notification, service: JobService) -> bool:
    """Whether the job is known: whatever is said of others creates nothing."""
    job = service.table.get(notification.job_id)
    if job is None or notification.attempt > job.attempts:
        return False
    attempt = notification.attempt
    if attempt in job.ended or not (job.is_open or job.holds_slot):
        return True
    if notification.failed:
        words = service.files.read_failure(job.failure_key) if job.failure_key and job.marked == attempt else None
        service.completion.fail_attempt(job, attempt, failure_of(notification.reason, words or ""))
    elif found := service.files.find_output(job.id, attempt, service.files.key_of(notification.output_location)):
        service.completion.succeed(job, *found)
    return True


def failure_of(reason: str, words: str) -> Failure:
    """By the status that the model's container gave, if SageMaker's reason names one.

    words: the container's own. The reason goes nowhere: like all of AWS's texts it can name accounts and resources.
    """
    status = _CONTAINER_STATUS.search(reason)
    if status and int(status[1]) == 0:
        return Failure("model_timeout", TOO_SLOW, refused=False)
    said = f": {words}" if words else "."
    if status and int(status[1]) in REFUSED_BY_MODEL:
        return Failure("rejected_by_model", f"The model refused the request{said}", refused=True)
    return Failure("model_error", f"The model failed{said}", refused=False)

"""The recorder behind an asynchronous endpoint: one notification of an attempt's end."""

from inference_api.jobs.recorder import Notification, OutputMissingError, record
from inference_api.jobs.service import job_service
from inference_api.shared.metrics import emit
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings
from inference_api.shared.sqs import Message, handles_each


@handles_each
def handler(message: Message) -> None:
    """Record the attempt's output or failure as the job's."""
    notification = Notification.read(message["body"])
    try:
        known = notification is not None and record(notification, job_service())
    except OutputMissingError:
        emit(job_settings().deployment, runtime().now(), {"OutputsMissing": 1})
        raise  # the message comes back, and after some tries it becomes a dead letter
    if not known:
        emit(job_settings().deployment, runtime().now(), {"UnknownJobMessages": 1})

"""The recorder behind an asynchronous endpoint: one notification of an attempt's end."""

from inference_api.jobs.recorder import Notification, record
from inference_api.jobs.service import job_service
from inference_api.metrics import emit
from inference_api.runtime import runtime
from inference_api.settings import job_settings
from inference_api.sqs import Message, handles_each


@handles_each
def handler(message: Message) -> None:
    """Record the attempt's output or failure as the job's."""
    notification = Notification.read(message["body"])
    if notification is None or not record(notification, job_service()):
        emit(job_settings().deployment, runtime().now(), {"UnknownJobMessages": 1})

"""What an asynchronous endpoint says about an attempt, by way of its topics and a queue."""

from inference_api.jobs.recorder import Notification, record
from inference_api.jobs.service import job_service
from inference_api.metrics import emit
from inference_api.runtime import runtime
from inference_api.settings import job_settings
from inference_api.sqs import Message, handles_each


@handles_each
def handler(message: Message) -> None:
    """One notification: the attempt's output or failure becomes the job's."""
    notification = Notification.read(message["body"])
    if notification is None or not record(notification, job_service()):
        emit(job_settings().deployment, runtime().now(), {"UnknownJobMessages": 1})

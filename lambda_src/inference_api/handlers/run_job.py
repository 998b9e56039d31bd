"""The worker of a real-time endpoint: one message of the job queue, one call of the model."""

from functools import cache

from inference_api.jobs.service import job_service
from inference_api.jobs.worker import work_on
from inference_api.model.endpoint import deployed_endpoint
from inference_api.model.endpoint_client import EndpointClient, one_call
from inference_api.shared.sqs import Message, handles_each


@handles_each
def handler(message: Message) -> None:
    """Run the job that the message names, unless another worker has it."""
    work_on(message, job_service(), endpoint())


@cache
def endpoint() -> EndpointClient:
    """Return the client of the model's endpoint, made on first use."""
    return deployed_endpoint(one_call())

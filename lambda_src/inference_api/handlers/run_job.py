"""The worker of a real-time endpoint: one message of the job queue, one call of the model."""

from functools import cache

from botocore.config import Config

from inference_api import deployed_engine
from inference_api.endpoint_client import EndpointClient
from inference_api.jobs.service import job_service
from inference_api.jobs.worker import work_on
from inference_api.runtime import ONE_ATTEMPT, runtime
from inference_api.settings import settings
from inference_api.sqs import Message, handles_each

# SageMaker itself ends a call after 60 s.
_READ_TIMEOUT_IN_SECONDS = 65


@handles_each
def handler(message: Message) -> None:
    """Run the job that the message names, unless another worker has it."""
    work_on(message, job_service(), endpoint())


@cache
def endpoint() -> EndpointClient:
    config = ONE_ATTEMPT.merge(Config(read_timeout=_READ_TIMEOUT_IN_SECONDS))
    return EndpointClient(
        runtime().client("sagemaker-runtime", config),
        settings().endpoint_name,
        clock=runtime().now,
        on_end=deployed_engine.count_call,
    )

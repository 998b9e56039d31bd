"""The component of this deployment and its waker, made once per process."""

from functools import cache
from typing import Any

from inference_api.shared.runtime import ONE_ATTEMPT, ONE_QUICK_ATTEMPT, runtime
from inference_api.shared.settings import job_settings, settings, wake_settings
from inference_api.wake.component import InferenceComponent
from inference_api.wake.rows import WakeRows
from inference_api.wake.waker import Waker


@cache
def waker() -> Waker:
    """Return the waker. Its calls have one attempt, because a call of the model may follow, and others look, too."""
    current, jobs = runtime(), job_settings()
    rows = WakeRows(current.client("dynamodb", ONE_QUICK_ATTEMPT), jobs.table)
    return Waker(rows, component(), current, jobs.deployment, wake_settings())


@cache
def component() -> InferenceComponent:
    """Return the component that holds this deployment's model."""
    return InferenceComponent(_sagemaker, settings().inference_component, settings().endpoint_name)


@cache
def _sagemaker() -> Any:
    return runtime().client("sagemaker", ONE_ATTEMPT)  # an ask may take a while, and must not be sent twice

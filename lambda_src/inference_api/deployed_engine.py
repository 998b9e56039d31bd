"""Whether the engine that the functions were deployed with serves: an update switches them long before the fleet."""

from functools import cache

from inference_api.endpoint_status import EndpointStatus
from inference_api.runtime import ONE_QUICK_ATTEMPT, runtime
from inference_api.settings import settings


def serves() -> bool:
    """False also while nobody knows: then the container judges a body that the engine would refuse."""
    return endpoint_status().runs(settings().endpoint_configuration)


@cache
def endpoint_status() -> EndpointStatus:
    """Made on first use, since its client is large.

    One quick attempt: the call of the model that may follow takes nearly all of the function's time.
    """
    return EndpointStatus(runtime().client("sagemaker", ONE_QUICK_ATTEMPT), settings().endpoint_name, runtime().now)

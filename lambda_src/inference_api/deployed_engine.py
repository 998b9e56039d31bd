"""Whether the engine that the functions were deployed with serves: an update switches them long before the fleet."""

from functools import cache

from botocore.config import Config

from inference_api.endpoint_status import EndpointStatus
from inference_api.runtime import ONE_ATTEMPT, runtime
from inference_api.settings import settings

# The call of the model that may follow takes up to 1 + 25 s of the function's 28 s.
_GLANCE = ONE_ATTEMPT.merge(Config(connect_timeout=1, read_timeout=1))


def serves() -> bool:
    """False also while nobody knows: then the container judges a body that the engine would refuse."""
    return endpoint_status().runs(settings().endpoint_configuration)


@cache
def endpoint_status() -> EndpointStatus:
    """Made when the first body breaks a rule of the engine; all other requests go without it."""
    return EndpointStatus(runtime().client("sagemaker", _GLANCE), settings().endpoint_name, runtime().now)

"""Whether the engine that the functions were deployed with serves, and how well; an update switches them first."""

from functools import cache

from botocore.config import Config

from inference_api.endpoint_status import EndpointStatus
from inference_api.errors import InvocationError
from inference_api.metrics import emit_for_fleet
from inference_api.runtime import ONE_ATTEMPT, runtime
from inference_api.settings import settings

# The call of the model that may follow takes up to 1 + 25 s of the function's 28 s.
_GLANCE = ONE_ATTEMPT.merge(Config(connect_timeout=1, read_timeout=1))


def serves() -> bool:
    """False also while nobody knows: then the container judges a body that the engine would refuse."""
    return endpoint_status().runs(settings().endpoint_configuration)


def count_call(error: InvocationError | None) -> None:
    """Count a call of the model, which failed or not, for the alarm that rolls an update back.

    SageMaker's own metrics can't tell: LMI refuses a caller's mistake with 424 or 500, as it reports its failures. What
    the fleet before the update fails is not counted.
    """
    failed = error is not None and error.failed
    if not failed or serves():
        emit_for_fleet(settings().endpoint_configuration, runtime().now(), {"ModelFailures": int(failed)})


@cache
def endpoint_status() -> EndpointStatus:
    """Made when the first body breaks a rule of the engine, or the first call fails; all others go without it."""
    return EndpointStatus(runtime().client("sagemaker", _GLANCE), settings().endpoint_name, runtime().now)

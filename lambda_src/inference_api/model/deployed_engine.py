"""Whether the engine that the functions were deployed with serves, and how well; an update switches them first."""

from functools import cache

from inference_api.model.endpoint_status import EndpointStatus
from inference_api.shared import errors
from inference_api.shared.errors import InvocationError
from inference_api.shared.metrics import emit_for_configuration
from inference_api.shared.runtime import ONE_QUICK_ATTEMPT, runtime
from inference_api.shared.settings import settings


def demand() -> None:
    """Raises ApiError 503 where the stack leaves the endpoint, or the machines, out."""
    if not settings().endpoint_deployed:
        raise errors.endpoint_not_deployed()


def state() -> str:
    """Whether the model answers now: `ready`, `starting`, `asleep`, `failed` or `not_deployed`.

    Raises ApiError 503, or botocore's errors, while nobody can tell.
    """
    if not settings().endpoint_deployed:
        return "not_deployed"
    if settings().endpoint_name:
        return endpoint_status().state()
    from inference_api.machines.parts import readiness  # functions of an endpoint start faster without it

    return readiness().state()


def serves() -> bool:
    """False also while nobody knows: then the container judges a body that the engine would refuse.

    Without an endpoint there is no update between two engines.
    """
    configuration = settings().endpoint_configuration
    return not configuration or endpoint_status().runs(configuration) is True


def count_call(error: InvocationError | None) -> None:
    """Count a call that the model answered, failed, or left without an answer, for the alarms that roll an update back.

    SageMaker's own metrics can't tell: LMI refuses a caller's mistake with 424 or 500, as it reports its failures.
    Failures of the configuration before the update are ignored; if it is unknown which one answered, they count.
    """
    if not settings().endpoint_deployed:  # jobs from before it was taken away
        return
    configuration, failed, timed_out = settings().endpoint_configuration, False, False
    if error is not None:
        failed, timed_out = error.failed, error.timed_out
        if not (failed or timed_out) or endpoint_status().runs(configuration) is False:
            return
    counted = {} if timed_out else {"ModelFailures": int(failed)}
    emit_for_configuration(configuration, runtime().now(), counted | {"ModelTimeouts": int(timed_out)})


@cache
def endpoint_status() -> EndpointStatus:
    """Made on first use, since its client is large.

    One quick attempt: the call of the model that may follow takes nearly all of the function's time.
    """
    return EndpointStatus(runtime().client("sagemaker", ONE_QUICK_ATTEMPT), settings().endpoint_name, runtime().now)

"""The engine that the functions were deployed with: its state, and counts of its failures.

An update of the stack changes the functions before the endpoint, so for a while an older engine may answer.
"""

from functools import cache

from inference_api.model.endpoint_status import EndpointStatus
from inference_api.shared import errors
from inference_api.shared.errors import InvocationError
from inference_api.shared.metrics import emit_for_configuration
from inference_api.shared.runtime import ONE_QUICK_ATTEMPT, runtime
from inference_api.shared.settings import settings, sleeps


def demand() -> None:
    """Raises ApiError 503 if the stack was deployed without its endpoint or machines."""
    if not settings().endpoint_deployed:
        raise errors.endpoint_not_deployed()


def state() -> str:
    """Return the state of the model: `ready`, `starting`, `asleep`, `failed` or `not_deployed`.

    Raises ApiError 503, or botocore's errors, if the state can't be read.
    """
    if not settings().endpoint_deployed:
        return "not_deployed"
    if settings().inference_component:
        from inference_api.wake import parts  # functions of an endpoint with a model of its own start faster without it

        return parts.waker().state() if sleeps() else parts.component().state()
    if settings().endpoint_name:
        return endpoint_status().state()
    from inference_api.machines.parts import readiness  # functions of an endpoint start faster without it

    return readiness().state()


def serves() -> bool:
    """Whether this engine, and no other, answers requests; False also if that is unknown.

    If it is False, a body that breaks a rule of this engine is left to the container. Machines have no update during
    which two engines answer, so for them it is True.
    """
    if settings().inference_component:
        from inference_api.wake import parts

        return parts.component().is_settled()
    configuration = settings().endpoint_configuration
    return not configuration or endpoint_status().runs(configuration) is True


def count_call(error: InvocationError | None) -> None:
    """Count whether a call failed or timed out, for the alarms that roll an update back.

    error: None if the model answered. SageMaker's own metrics don't help: LMI answers a caller's mistake with 424 or
    500, as it reports its own failures. Failures of the configuration before the update are ignored. If it is unknown
    which configuration answered, they count.
    """
    if not settings().endpoint_deployed:  # a job from before the endpoint was taken away
        return
    configuration, failed, timed_out = settings().endpoint_configuration, False, False
    if error is not None:
        failed, timed_out = error.failed, error.timed_out
        if not (failed or timed_out) or endpoint_status().runs(configuration) is False:
            return
    counted = {} if timed_out else {"ModelFailures": int(failed)}
    counter = configuration or settings().inference_component  # the configuration of a shared endpoint says nothing
    emit_for_configuration(counter, runtime().now(), counted | {"ModelTimeouts": int(timed_out)})


@cache
def endpoint_status() -> EndpointStatus:
    """Return the endpoint's status. It is made on first use, because its client is large.

    A read has one quick attempt, because a call of the model may follow that takes nearly all of the function's time.
    """
    return EndpointStatus(
        runtime().client("sagemaker", ONE_QUICK_ATTEMPT),
        settings().endpoint_name,
        runtime().now,
        updates_by_parts=settings().updates_by_parts,
    )

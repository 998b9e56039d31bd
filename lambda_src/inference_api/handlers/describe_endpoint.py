"""GET /endpoint."""

from functools import cache
from typing import Any

from inference_api.http.gateway import Request, Response, answers
from inference_api.model import deployed_engine
from inference_api.model.endpoint_status import NOT_DEPLOYED, QUICK_RETRIES, EndpointStatus
from inference_api.shared.model_states import ASLEEP, FAILED, READY, STARTING
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import Settings, settings, sleeps

# The statuses of a model that sleeps, in the words of machines that sleep.
_STATUSES = {READY: "InService", STARTING: "Starting", ASLEEP: "Stopped", FAILED: "Failed"}


@answers
def handler(request: Request) -> Response:
    """GET /endpoint: the model, its endpoint and the endpoint's status.

    The model is null while the endpoint may run another one, for example during an update. Reading wakes no model.
    """
    deployed = settings()
    status = endpoint_status().read() if deployed.endpoint_deployed else NOT_DEPLOYED
    serves = status == NOT_DEPLOYED or _serves(deployed)
    description = {
        "name": deployed.endpoint_name if deployed.endpoint_deployed else None,
        "invocation_url": deployed.endpoint_url if deployed.endpoint_deployed else None,
        "model_id": deployed.model_id if serves else None,
        "engine": deployed.engine if serves else None,
        "engine_version": (deployed.engine_version or None) if serves else None,
        "status": status,
        "mode": deployed.hosting_mode,
    }
    if deployed.inference_component:
        description["inference_component"] = deployed.inference_component
    if sleeps() and deployed.endpoint_deployed:
        description |= _sleep()
    return Response(200, description)


def _serves(deployed: Settings) -> bool | None:
    if deployed.inference_component:
        return deployed_engine.serves()
    return endpoint_status().runs(deployed.endpoint_configuration)


def _sleep() -> dict[str, Any]:
    """Return the status of a model that sleeps, and when its start began and how long it usually takes."""
    from inference_api.jobs.state.job import timestamp
    from inference_api.wake.parts import waker

    row = waker().look(ask=False)
    state = row.state or STARTING
    return {
        "status": _STATUSES[state],
        "state": state,
        "reason": row.reason or None,
        "start": {
            "since": timestamp(row.began_at) if row.is_starting else None,
            "usual_seconds": waker().usual_seconds(row),
            "left_seconds": waker().seconds_until_ready(row),
        },
    }


@cache
def endpoint_status() -> EndpointStatus:
    """Return the endpoint's status, made on first use, with a client that retries."""
    client = runtime().client("sagemaker", QUICK_RETRIES)
    return EndpointStatus(client, settings().endpoint_name, updates_by_parts=settings().updates_by_parts)

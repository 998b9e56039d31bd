"""GET /endpoint."""

from functools import cache

from inference_api.http.gateway import Request, Response, answers
from inference_api.model.endpoint_status import NOT_DEPLOYED, QUICK_RETRIES, EndpointStatus
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings


@answers
def handler(request: Request) -> Response:
    """GET /endpoint: the model, its endpoint and the endpoint's status.

    The model is null while the endpoint may run another one, for example during an update.
    """
    deployed = settings()
    status = endpoint_status().read() if deployed.endpoint_deployed else NOT_DEPLOYED
    serves = status == NOT_DEPLOYED or endpoint_status().runs(deployed.endpoint_configuration)
    description = {
        "name": deployed.endpoint_name if deployed.endpoint_deployed else None,
        "invocation_url": deployed.endpoint_url if deployed.endpoint_deployed else None,
        "model_id": deployed.model_id if serves else None,
        "engine": deployed.engine if serves else None,
        "engine_version": (deployed.engine_version or None) if serves else None,
        "status": status,
        "mode": deployed.hosting_mode,
    }
    return Response(200, description)


@cache
def endpoint_status() -> EndpointStatus:
    """Return the endpoint's status, made on first use, with a client that retries."""
    client = runtime().client("sagemaker", QUICK_RETRIES)
    return EndpointStatus(client, settings().endpoint_name)

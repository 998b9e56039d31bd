"""GET /endpoint of a deployment on machines that sleep."""

from inference_api.http.gateway import Request, Response, answers
from inference_api.jobs.state.job import timestamp
from inference_api.machines.parts import readiness
from inference_api.model.endpoint_status import NOT_DEPLOYED
from inference_api.shared.settings import job_settings, settings


@answers
def handler(request: Request) -> Response:
    """GET /endpoint: the model, the status of its machines, and how long a start takes."""
    deployed, found = settings(), readiness().describe()
    if not deployed.endpoint_deployed:
        found |= {"status": NOT_DEPLOYED, "since": None}
    since = found["since"]
    description = {
        "name": job_settings().deployment,
        "invocation_url": None,
        "model_id": deployed.model_id,
        "engine": deployed.engine,
        "engine_version": deployed.engine_version or None,
        "status": found["status"],
        "mode": deployed.hosting_mode,
        "start": {"since": timestamp(since) if since else None, "usual_seconds": found["usual_seconds"]},
    }
    return Response(200, description)

"""GET /jobs/{id}."""

from inference_api.http import Request, Response, answers
from inference_api.job_service import job_service
from inference_api.job_view import full
from inference_api.runtime import runtime
from inference_api.waiting import retry_after, seconds_to_wait


@answers
def handler(request: Request) -> Response:
    """GET /jobs/{id}: the job as its owner sees it, after waiting up to `wait` seconds for its end."""
    started = runtime().now()
    service, seconds = job_service(), seconds_to_wait(request, default=0)
    job = service.waiting.find(request.path["id"], request.owner)
    job, held = service.waiting.until_ended(job, started + seconds)
    wait = retry_after(job, runtime().now(), asked=seconds, held=held)
    return Response(200, full(job, service), retry_after_in_seconds=wait)

"""POST /jobs."""

from inference_api.http.gateway import Request, Response, answers
from inference_api.jobs.long_poll import retry_after, seconds_to_wait
from inference_api.jobs.service import job_service
from inference_api.jobs.view import accepted
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /jobs: accept a job with the engine's own body, then wait up to `wait` seconds for its end."""
    started = runtime().now()
    service, seconds = job_service(), seconds_to_wait(request, 0, settings().longest_wait_in_seconds)
    job = service.submit(request)
    job, held = service.long_poll.until_ended(job, started + seconds)
    until_ready = service.backend.seconds_until_ready
    wait = retry_after(job, runtime().now(), asked=seconds, held=held, until_ready=until_ready)
    return accepted(job, service, wait)

"""DELETE /jobs/{id}."""

from inference_api.http.gateway import Request, Response, answers
from inference_api.jobs.service import job_service
from inference_api.jobs.state.job import SHOWN
from inference_api.jobs.view import summary
from inference_api.shared import errors


@answers
def handler(request: Request) -> Response:
    """DELETE /jobs/{id}: cancel an open job; an attempt that runs on the model runs to its end."""
    service = job_service()
    job = service.long_poll.find(request.path["id"], request.owner)
    job, cancelled = service.completion.cancel(job)
    if not cancelled:
        raise errors.job_ended(SHOWN[job.state])
    return Response(200, summary(job))

"""DELETE /jobs/{id}."""

from inference_api.http import ApiError, Request, Response, answers
from inference_api.jobs.job import SHOWN
from inference_api.jobs.service import job_service
from inference_api.jobs.view import summary


@answers
def handler(request: Request) -> Response:
    """DELETE /jobs/{id}: ends a job that has not ended; what already runs on the model runs to its end."""
    service = job_service()
    job = service.long_poll.find(request.path["id"], request.owner)
    job, cancelled = service.completion.cancel(job)
    if not cancelled:
        message = f"The job has ended as {SHOWN[job.state]}, which nothing changes; read it with GET."
        raise ApiError(409, "job_ended", message)
    return Response(200, summary(job))

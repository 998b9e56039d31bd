"""POST /generate where only jobs reach the model."""

from inference_api import errors
from inference_api.answer import MAX_RESPONSE_BYTES
from inference_api.errors import ApiError
from inference_api.http import Request, Response, answers
from inference_api.jobs.job import CANCELLED, EXPIRED, FAILED, Job, Output
from inference_api.jobs.long_poll import retry_after, seconds_to_wait
from inference_api.jobs.service import JobService, job_service
from inference_api.jobs.view import accepted, error_of
from inference_api.runtime import runtime
from inference_api.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /generate: 200 with the model's answer, or 202 with the job if it has not ended after `wait` seconds."""
    started = runtime().now()
    service, longest = job_service(), settings().longest_wait_in_seconds
    seconds = seconds_to_wait(request, longest, longest)
    job = service.submit(request)
    job, held = service.long_poll.until_ended(job, started + seconds)
    if job.output:
        return _answer(job, job.output, service)
    if job.state == FAILED:
        raise errors.job_failed(**error_of(job, service))
    if job.state == EXPIRED:
        raise errors.deadline_exceeded()
    if job.state == CANCELLED:
        raise errors.job_cancelled()
    until_ready = service.backend.seconds_until_ready
    wait = retry_after(job, runtime().now(), asked=seconds, held=held, until_ready=until_ready)
    return accepted(job, service, wait)


def _answer(job: Job, output: Output, service: JobService) -> Response:
    if output.size > MAX_RESPONSE_BYTES:
        raise errors.answer_of_job("answer_too_large", job.id)
    try:
        return service.read_answer(job, output).to_response()
    except ApiError as error:
        raise errors.answer_of_job(error.code, job.id) from None

"""POST /generate where only jobs reach the model: submit one, wait for its end, answer as the model did."""

from inference_api.endpoint_client import MAX_ANSWER_BYTES, passed_on
from inference_api.http import ApiError, Request, Response
from inference_api.jobs.job import CANCELLED, EXPIRED, FAILED, SUCCEEDED, Job, Result
from inference_api.jobs.long_poll import LONGEST_WAIT_IN_SECONDS, retry_after, seconds_to_wait
from inference_api.jobs.service import job_service
from inference_api.jobs.view import accepted, answer_of, error_of
from inference_api.runtime import runtime


def generate(request: Request) -> Response:
    """200 with the answer, or 202 with the job if it has not ended after `wait` seconds."""
    started = runtime().now()
    service, seconds = job_service(), seconds_to_wait(request, default=LONGEST_WAIT_IN_SECONDS)
    job = service.submission.submit(request)
    job, held = service.long_poll.until_ended(job, started + seconds)
    if job.state == SUCCEEDED and job.output:
        if job.output.size > MAX_ANSWER_BYTES:
            raise _kept(job, "answer_too_large")
        return _answer(job, answer_of(job, job.output, service))
    if job.state == FAILED:
        error = error_of(job, service)
        raise ApiError(400 if error["code"] == "rejected_by_model" else 502, error["code"], error["message"])
    if job.state == EXPIRED:
        raise ApiError(504, "deadline_exceeded", "The job's deadline passed without an answer; send the request again.")
    if job.state == CANCELLED:
        raise ApiError(409, "job_cancelled", "The job of this request was cancelled before it had an answer.")
    return accepted(job, service, retry_after(job, runtime().now(), asked=seconds, held=held))


def _answer(job: Job, output: Result) -> Response:
    try:
        answer = passed_on(*output)
    except ApiError as error:
        raise _kept(job, error.code) from None
    return Response(200, answer.text, content_type=answer.content_type)


def _kept(job: Job, code: str) -> ApiError:
    return ApiError(502, code, f"The model's answer can't be passed on here; GET jobs/{job.id} has it.")

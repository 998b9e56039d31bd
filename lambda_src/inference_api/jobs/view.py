"""A job as its owner sees it."""

import json
from typing import Any

from inference_api.http import Response
from inference_api.jobs.job import EXPIRED, FAILED, SHOWN, SUCCEEDED, Job, Output, Result, timestamp
from inference_api.jobs.service import JobService

# Lambda's answer may have 6 MB, in which the body is a string once more.
MOST_INLINE = 5_000_000

_LATE = {
    "code": "deadline_exceeded",
    "message": "No attempt brought an answer before the job's deadline; submit it again, or ask the operator.",
}


def summary(job: Job) -> dict[str, Any]:
    """Without output or error. The link is relative to the URL of the API."""
    ended = {"ended_at": timestamp(job.ended_at)} if job.ended_at is not None else {}
    times = {"created_at": timestamp(job.accepted_at), "deadline": timestamp(job.deadline), **ended}
    return {"id": job.id, "status": SHOWN[job.state], **times, "links": {"self": f"jobs/{job.id}"}}


def full(job: Job, service: JobService) -> dict[str, Any]:
    """With `output`, `output_url` or `error` once the job has ended."""
    view = summary(job)
    if job.state == SUCCEEDED and job.output:
        return view | _output(job, job.output, service)
    if job.state == FAILED:
        return view | {"error": error_of(job, service)}
    return view | ({"error": _LATE} if job.state == EXPIRED else {})


def accepted(job: Job, service: JobService, retry_after: int | None) -> Response:
    """202 with the way to the job, or 200 with all of it if it has ended by now."""
    body = summary(job) if job.is_open else full(job, service)
    return Response(202 if job.is_open else 200, body, retry_after_in_seconds=retry_after, location=f"jobs/{job.id}")


def error_of(job: Job, service: JobService) -> dict[str, str]:
    """Code and message of a failed job."""
    result = service.table.get_error(job, job.error_attempt)
    message = json.loads(result.body)["message"] if result else "The model failed."
    return {"code": job.error_code or "model_error", "message": str(message)}


def answer_of(job: Job, output: Output, service: JobService) -> Result:
    """The model's own answer, unchanged."""
    return (service.table.get_output(job, output) if output.in_table else None) or service.files.read_output(output)


def _output(job: Job, output: Output, service: JobService) -> dict[str, Any]:
    if output.size <= MOST_INLINE:
        answer = answer_of(job, output, service)
        value = _value(answer)
        if len(json.dumps(json.dumps(value))) <= MOST_INLINE:
            return {"output": value}
    return {"output_url": service.files.link(job)}


def _value(answer: Result) -> Any:
    """JSON as JSON; anything else is text."""
    text = answer.body.decode(errors="replace")
    if answer.content_type.partition(";")[0].strip().lower() == "application/json":
        try:
            return json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            pass
    return text


def _refuse(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are no JSON

"""A job as its owner sees it."""

import json
from math import isfinite
from typing import Any

from inference_api.http.answer import Answer
from inference_api.http.gateway import Response
from inference_api.jobs.service import JobService
from inference_api.jobs.state.job import EXPIRED, FAILED, SHOWN, Job, Output, timestamp
from inference_api.shared import errors
from inference_api.shared.tracing import trace_id_of

# Lambda returns at most 6 MB of JSON, in which the body is a string.
MOST_INLINE = 5_000_000


def summary(job: Job) -> dict[str, Any]:
    """Return the job without output or error. The link is relative to the URL of the API."""
    ended = {"ended_at": timestamp(job.ended_at)} if job.ended_at is not None else {}
    times = {"created_at": timestamp(job.accepted_at), "deadline": timestamp(job.deadline), **ended}
    trace = {"trace_id": found} if (found := trace_id_of(job.trace)) else {}
    return {"id": job.id, "status": SHOWN[job.state], **times, **trace, "links": {"self": f"jobs/{job.id}"}}


def full(job: Job, service: JobService) -> dict[str, Any]:
    """Return the job, with `output`, `output_url` or `error` once it has ended."""
    view = summary(job)
    if job.output:
        return view | _output(job, job.output, service)
    if job.state == FAILED:
        return view | {"error": errors.job_failed(**error_of(job, service)).as_object()}
    if job.state == EXPIRED:
        return view | {"error": errors.deadline_exceeded().as_object()}
    return view


def accepted(job: Job, service: JobService, retry_after: int | None) -> Response:
    """Return a 202 with the job's location, or a 200 with the whole job if it has ended."""
    body = summary(job) if job.is_open else full(job, service)
    return Response(202 if job.is_open else 200, body, retry_after_in_seconds=retry_after, location=f"jobs/{job.id}")


def error_of(job: Job, service: JobService) -> dict[str, str]:
    """Return code and message of a failed job, and the field at fault if there is one."""
    error = service.read_error(job)
    error = error or {"message": errors.container_error(None, "").message}
    return {"code": job.error_code or "model_error", **{name: error[name] for name in error if name != "code"}}


def _output(job: Job, output: Output, service: JobService) -> dict[str, Any]:
    if output.size <= MOST_INLINE:
        value = _value(service.read_answer(job, output))
        if len(json.dumps(json.dumps(value))) <= MOST_INLINE:
            return {"output": value}
    return {"output_url": service.files.link(job)}


def _value(answer: Answer) -> Any:
    """Return an answer of JSON as a value, any other as text."""
    text = answer.body.decode(errors="replace")
    if answer.is_json:
        try:
            return json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError):
            pass
    return text


def _refuse(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)  # 1e999 is JSON, and would leave as Infinity

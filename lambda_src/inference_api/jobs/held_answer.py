"""Holds the caller of a request until a job has answered it. Comments in a stream, or spaces, keep the line open."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from inference_api.http.answer import MAX_RESPONSE_BYTES, Answer
from inference_api.http.gateway import Request, Response, StreamedResponse
from inference_api.http.heartbeat import SPACE
from inference_api.jobs.service import JobService, job_service
from inference_api.jobs.state import job as states
from inference_api.jobs.state.job import Job
from inference_api.jobs.view import error_of
from inference_api.model import deployed_engine
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import ApiError
from inference_api.shared.model_states import ASLEEP, FAILED, STARTING
from inference_api.shared.runtime import runtime
from inference_api.shared.time_budget import BEAT, LONGEST_HOLD, SILENCE, TO_ANSWER

# The retry-after for an endpoint. How long its instances take to start is not measured, mostly some minutes. Clients
# obey at most two minutes.
_START_IN_SECONDS = 60

_NOT_READY = (ASLEEP, STARTING, FAILED)

View = Callable[[Answer], dict[str, Any]]


def stream(
    request: Request, body: bytes, events: Callable[[Answer], Iterator[bytes]], *, sleeps: bool = False
) -> StreamedResponse:
    """Return a 200 at once, and the job's answer as events. Raises ApiError if no job is accepted.

    body: the job's. events: makes events of the answer. sleeps: whether the model has just refused a call as not ready.
    """
    service, end = job_service(), _end(request)
    sleeps = sleeps or _state() in _NOT_READY
    place, job = _begin(request, body, service, end)

    def pieces() -> Iterator[bytes]:
        following = service.long_poll.follow(job, end, place)
        with closing(following):
            next(following)
            yield b": the model is starting\n\n" if sleeps else b": the model has the request\n\n"
            ended = yield from _held(job, following, f": waiting for job {job.id}\n\n".encode())
        yield from events(answer_of(ended, service))

    return StreamedResponse(pieces())


def whole(
    request: Request, body: bytes, view: View, *, sleeps: bool = False, most_bytes: int = MAX_RESPONSE_BYTES
) -> Response | StreamedResponse:
    """Return the job's answer as JSON, after leading spaces if it takes long. most_bytes: of the model's answer.

    If the model sleeps, the request must set `wait`. Raises ApiError if no job is accepted, or if the job fails before
    the first space.
    """
    service, now = job_service(), runtime().now()
    end = _end(request)
    if "wait" not in request.query:
        _demand_awake(service, sleeps)
    place, job = _begin(request, body, service, end)
    following = service.long_poll.follow(job, end, place)
    for row in following:
        job = row
        if runtime().now() - now >= SILENCE and job.is_open:
            pieces = _spaces(job, following, lambda each: view(answer_of(each, service, most_bytes)))
            return StreamedResponse(pieces, "application/json")
    return Response(200, view(answer_of(job, service, most_bytes)))


def answer_of(job: Job, service: JobService, most_bytes: int = MAX_RESPONSE_BYTES) -> Answer:
    """Return the model's answer. Raises ApiError for a job that has ended without one, or has not ended."""
    if job.output:
        if job.output.size > most_bytes:
            raise errors.answer_of_job("answer_too_large", job.id)
        return service.read_answer(job, job.output)
    if job.state == states.FAILED:
        raise errors.job_failed(**error_of(job, service))
    if job.state == states.EXPIRED:
        raise errors.deadline_exceeded()
    if job.state == states.CANCELLED:
        raise errors.job_cancelled()
    raise errors.still_running(job.id)


def _end(request: Request) -> float:
    """Return when the caller gets an answer at the latest, in seconds since the epoch."""
    seconds = request.whole_number("wait", 1, LONGEST_HOLD, LONGEST_HOLD)
    return min(runtime().now() + seconds, request.ends_at - TO_ANSWER)


def _begin(request: Request, body: bytes, service: JobService, end: float) -> tuple[str, Job]:
    """Take a place for the caller, then submit the job: without a place no job is accepted."""
    service.demand()
    place = service.long_poll.take_place(request.owner, end)
    try:
        return place, service.submit(replace(request, body=body))
    except Exception:
        service.long_poll.leave(request.owner, place)
        raise


def _held(job: Job, rows: Iterator[Job], beat: bytes) -> Generator[bytes, None, Job]:
    """Yield `beat` every few seconds while the job is open. Return its last row."""
    next_at = runtime().now() + BEAT
    for row in rows:
        job = row
        if job.is_open and runtime().now() >= next_at:
            next_at += BEAT
            yield beat
    return job


def _spaces(job: Job, rows: Generator[Job], view: Callable[[Job], dict[str, Any]]) -> Iterator[bytes]:
    with closing(rows):
        yield SPACE
        job = yield from _held(job, rows, SPACE)
    yield json.dumps(view(job)).encode()


def _demand_awake(service: JobService, sleeps: bool) -> None:
    """Wake a model that does not answer now, and raise ApiError 503 for it."""
    service.demand()
    if sleeps or _state() in _NOT_READY:
        asked = service.wake()
        raise errors.model_starting(service.backend.seconds_until_ready() or _START_IN_SECONDS, asked=asked)


def _state() -> str | None:
    """Return the model's state; None if it can't be read. Then the job is accepted, as by POST /jobs."""
    try:
        return deployed_engine.state()
    except (ApiError, *PASSING_ERRORS):
        return None

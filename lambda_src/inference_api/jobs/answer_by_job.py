"""POST /generate and OpenAI's routes, answered by a job."""

import json
from collections.abc import Iterator
from dataclasses import replace

from inference_api.http import sse
from inference_api.http.answer import Answer
from inference_api.http.gateway import Request, Response, StreamedResponse
from inference_api.jobs import held_answer
from inference_api.jobs.long_poll import retry_after, seconds_to_wait
from inference_api.jobs.service import job_service
from inference_api.jobs.view import accepted
from inference_api.model import deployed_engine
from inference_api.model.request_body import check_request_body
from inference_api.openai.exchange import Read, events_of_whole, told_to_caller
from inference_api.openai.parts import read_value
from inference_api.routes.readers import READERS
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings
from inference_api.shared.time_budget import limit_whole_answer


def by_job(request: Request, *, sleeps: bool = False) -> Response | StreamedResponse:
    """Answer a request by a job. sleeps: whether the model has just refused the request as not ready."""
    if request.resource != "/generate":
        return _of_openai(request, *READERS[request.resource][1:], sleeps)
    rules = settings().request_rules
    document = check_request_body(request.body, request.content_type, rules, deployed_engine.serves, may_stream=True)
    if not document.get("stream"):
        return _generate(request)
    body = {name: value for name, value in document.items() if name not in ("stream", "stream_options")}
    return held_answer.stream(request, json.dumps(body, ensure_ascii=False).encode(), _event, sleeps=sleeps)


def _of_openai(request: Request, read: Read, most_bytes: int, sleeps: bool) -> Response | StreamedResponse:
    exchange = read(request.body, request.content_type, request.key)
    body = exchange.call.unstreamed()
    with told_to_caller(exchange):
        if not exchange.call.streams:
            return held_answer.whole(
                request, body, lambda each: exchange.view(each.body), sleeps=sleeps, most_bytes=most_bytes
            )
        events = held_answer.stream(request, body, lambda each: events_of_whole(each.body, exchange), sleeps=sleeps)
    return replace(events, last_words=exchange.last_words)


def _generate(request: Request) -> Response:
    """POST /generate: 200 with the model's answer, or 202 with the job if it has not ended after `wait` seconds."""
    limit_whole_answer()
    started = runtime().now()
    service, longest = job_service(), settings().longest_wait_in_seconds
    seconds = seconds_to_wait(request, longest, longest)
    job = service.submit(request)
    job, held = service.long_poll.until_ended(job, started + seconds)
    if not job.is_open:
        answer = held_answer.answer_of(job, service)
        try:
            return answer.to_response()
        except ApiError as error:
            raise errors.answer_of_job(error.code, job.id) from None
    until_ready = service.backend.seconds_until_ready
    wait = retry_after(job, runtime().now(), asked=seconds, held=held, until_ready=until_ready)
    return accepted(job, service, wait)


def _event(answer: Answer) -> Iterator[bytes]:
    """Yield the engine's own object as one event."""
    return sse.events([read_value(answer.body)])

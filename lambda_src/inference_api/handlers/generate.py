"""POST /generate and OpenAI's routes of a real-time endpoint, whose model answers at once.

A stream runs through a chain of generators. Each line takes its pieces from the line above:

    EndpointClient.stream      parts of SageMaker's answer, cut anywhere
    parts.objects              the engine's JSON values
    chunks.chunks              OpenAI's chunks; not for POST /generate
    Exchange.events            events: of a chat one for each, and [DONE]
    held_stream.held           the same; while a model that sleeps starts, comments, then all of the above again
    MeteredCall.stream         the same events, counted; settles the charge
      (a thread of its own runs all above)
    heartbeat.opened           the same, and a comment whenever nothing comes
    not_ready.or_by_job        the same, or a job's events if a model that never sleeps is not ready
    gateway.streams            the same; an error becomes the last event; writes the log line
    streaming_runtime.serve    chunks of HTTP for Lambda

A whole answer of OpenAI's routes takes the same way as one piece. An error goes down the chain, and each line cleans up
as it passes. If the caller hangs up, the chain is closed from below: `heartbeat.opened` interrupts the read at the top.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial

from inference_api.embeddings import routes as vectors
from inference_api.http import sse
from inference_api.http.gateway import Request, Response, StreamedResponse, streams
from inference_api.http.heartbeat import opened
from inference_api.http.streaming_runtime import serve
from inference_api.model import deployed_engine
from inference_api.model.endpoint import deployed_endpoint
from inference_api.model.endpoint_client import EndpointClient, one_call
from inference_api.model.metered_call import MeteredCall, admit
from inference_api.model.not_ready import Route, or_by_job
from inference_api.model.request_body import body_for_model, check_request_body
from inference_api.openai import routes, whole
from inference_api.openai.parts import objects
from inference_api.routes.readers import READERS, VECTORS
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings, sleeps
from inference_api.shared.time_budget import limit_whole_answer


@streams
def route(request: Request) -> Response | StreamedResponse:
    """Answer one of the function's routes, by its path."""
    answer: Route = _generate if request.resource == "/generate" else _of_openai
    return or_by_job(request, answer, _by_job)


def _of_openai(request: Request) -> StreamedResponse:
    if read := VECTORS.get(request.resource):
        return vectors.answered(request, read)
    return routes.answered(request, _held, READERS[request.resource].read)


def _by_job(request: Request) -> Response | StreamedResponse:
    from inference_api.jobs.answer_by_job import by_job  # the function starts faster without the modules of jobs

    return by_job(request, sleeps=True)


def _held(request: Request, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """Return the pieces of a stream. If the model sleeps, the caller is held until they come."""
    if not sleeps():
        return ask()
    from inference_api.jobs.held_stream import held

    return held(request, meter, ask)


def _generate(request: Request) -> Response | StreamedResponse:
    """POST /generate: the model's answer to the engine's own body, which is checked and passed on."""
    deployed_engine.demand()
    rules, streamed = settings().request_rules, settings().openai.streams
    document = check_request_body(
        request.body, request.content_type, rules, deployed_engine.serves, may_stream=bool(streamed)
    )
    body = body_for_model(request.body, document, rules)
    hang_up = routes.streaming_endpoint().hang_up
    meter = admit(request, document)
    if document.get("stream"):
        asked = document.get("model")
        model = asked if asked in settings().adapters else settings().model_id
        events = meter.stream(_held(request, meter, lambda: _events(body, meter, model)))
        return StreamedResponse(opened(events, interrupt=partial(meter.leave, hang_up)))
    with meter.whole():
        limit_whole_answer()
        try:
            answer = endpoint().invoke(body, meter.segment)
        finally:
            runtime().answer_before(request.ends_at)  # a late answer or failure is counted, too
        meter.answer(answer.body)
        return answer.to_response()


def _events(body: bytes, meter: MeteredCall, model: str) -> Iterator[bytes]:
    """Yield the engine's own objects as events, whatever format the engine streams."""
    with routes.streaming_endpoint().stream(body, meter.segment) as parts:
        yield from sse.events(_counted(value, meter, model) for value in objects(parts))


def _counted(value: object, meter: MeteredCall, model: str) -> object:
    if isinstance(value, dict):
        if "model" in value:
            value["model"] = model
        if tokens := whole.tokens_of(value):
            meter(*tokens)
    return value


@cache
def endpoint() -> EndpointClient:
    """Return the client for whole answers. It waits as long as the deployment lets callers wait."""
    return deployed_endpoint(one_call(settings().longest_wait_in_seconds))


handler = serve(route)

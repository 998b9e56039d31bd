"""POST /chat/completions and POST /completions of a real-time endpoint, whose model answers at once."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial

from inference_api.http import sse
from inference_api.http.answer import MAX_RESPONSE_BYTES
from inference_api.http.gateway import Request, StreamedResponse
from inference_api.http.heartbeat import COMMENT, SPACE, opened
from inference_api.model import deployed_engine, metered_call
from inference_api.model.endpoint import deployed_endpoint
from inference_api.model.endpoint_client import EndpointClient, one_stream
from inference_api.model.metered_call import MeteredCall
from inference_api.openai import whole
from inference_api.openai.body import read_call
from inference_api.openai.call import OpenAICall
from inference_api.openai.chunks import chunks
from inference_api.openai.parts import objects
from inference_api.shared import errors
from inference_api.shared.time_budget import SILENCE

# Yields the pieces that the last argument makes; while the model sleeps, the caller is held.
Held = Callable[[Request, MeteredCall, Callable[[], Iterator[bytes]]], Iterator[bytes]]


def chat(request: Request, held: Held) -> StreamedResponse:
    """POST /chat/completions: a chat completion, whole or as a stream."""
    return _answered(request, held, chat=True)


def completions(request: Request, held: Held) -> StreamedResponse:
    """POST /completions: a text completion, whole or as a stream."""
    return _answered(request, held, chat=False)


def _answered(request: Request, held: Held, *, chat: bool) -> StreamedResponse:
    """Answer a request. ApiError is raised before the model is asked; errors of the model come with the first piece."""
    deployed_engine.demand()
    call = read_call(request.body, request.content_type, chat=chat, key=request.key)
    hang_up = streaming_endpoint().hang_up
    meter = metered_call.admit(request, call.document)
    leave = partial(meter.leave, hang_up)
    if call.streams:
        events = meter.stream(held(request, meter, lambda: _events(call, meter)))
        return StreamedResponse(opened(events, COMMENT, interrupt=leave))
    pieces = meter.stream(_whole(call, meter))
    return StreamedResponse(
        opened(pieces, SPACE, first_after=SILENCE, every=SILENCE, interrupt=leave), "application/json"
    )


def _events(call: OpenAICall, meter: MeteredCall) -> Iterator[bytes]:
    with _asked(call, meter, call.streamed() if call.engine_streams else call.unstreamed()) as parts:
        yield from sse.events(chunks(objects(parts), call, meter))


def _whole(call: OpenAICall, meter: MeteredCall) -> Iterator[bytes]:
    with _asked(call, meter, call.unstreamed()) as parts:
        answer = whole.openai_object(_joined(parts, meter), call)
    yield json.dumps(answer).encode()


def _asked(call: OpenAICall, meter: MeteredCall, body: bytes) -> AbstractContextManager[Iterator[bytes]]:
    """Ask the model. Only an engine that streams is asked for a stream: SageMaker's other call ends after a minute."""
    if call.engine_streams:
        return streaming_endpoint().stream(body)
    answer = streaming_endpoint().invoke(body).body
    meter.answer(answer)
    return nullcontext(iter([answer]))


def _joined(parts: Iterable[bytes], meter: MeteredCall) -> bytes:
    """Join the parts, and count them even if they break off. Raises ApiError 502 if they are too large."""
    joined = bytearray()
    try:
        for part in parts:
            joined += part
            if len(joined) > MAX_RESPONSE_BYTES:
                raise errors.answer_too_large()
    finally:
        meter.answer(bytes(joined))
    return bytes(joined)


@cache
def streaming_endpoint() -> EndpointClient:
    """Return the client for streams. It waits as long as SageMaker's longest call."""
    return deployed_endpoint(one_stream())

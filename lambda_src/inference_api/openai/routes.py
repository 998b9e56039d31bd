"""POST /chat/completions and POST /completions of a real-time endpoint, whose model answers at once."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial

from inference_api.http.answer import MAX_RESPONSE_BYTES
from inference_api.http.gateway import Request, StreamedResponse
from inference_api.http.heartbeat import COMMENT, SPACE, opened
from inference_api.model import deployed_engine, metered_call
from inference_api.model.endpoint import deployed_endpoint
from inference_api.model.endpoint_client import EndpointClient, one_stream
from inference_api.model.metered_call import MeteredCall
from inference_api.openai.call import OpenAICall
from inference_api.openai.chunks import chunks
from inference_api.openai.exchange import Exchange, Read
from inference_api.openai.parts import objects
from inference_api.shared import errors
from inference_api.shared.time_budget import SILENCE

# Yields the pieces that the last argument makes; while the model sleeps, the caller is held.
Held = Callable[[Request, MeteredCall, Callable[[], Iterator[bytes]]], Iterator[bytes]]


def answered(request: Request, held: Held, read: Read) -> StreamedResponse:
    """Answer a request, whole or as a stream. Raises ApiError before the model is asked.

    Errors of the model come with the first piece.
    """
    deployed_engine.demand()
    exchange = read(request.body, request.content_type, request.key)
    call = exchange.call
    hang_up = streaming_endpoint().hang_up
    meter = metered_call.admit(request, call.document)
    leave = partial(meter.leave, hang_up)
    if call.streams:
        events = meter.stream(held(request, meter, lambda: _events(exchange, meter)))
        return StreamedResponse(opened(events, COMMENT, interrupt=leave), last_words=exchange.last_words)
    pieces = meter.stream(_whole(exchange, meter))
    return StreamedResponse(
        opened(pieces, SPACE, first_after=SILENCE, every=SILENCE, interrupt=leave), "application/json"
    )


def _events(exchange: Exchange, meter: MeteredCall) -> Iterator[bytes]:
    call = exchange.call
    with _asked(call, meter, call.streamed() if call.engine_streams else call.unstreamed()) as parts:
        yield from exchange.events(chunks(objects(parts), call, meter))


def _whole(exchange: Exchange, meter: MeteredCall) -> Iterator[bytes]:
    with _asked(exchange.call, meter, exchange.call.unstreamed()) as parts:
        answer = exchange.view(_joined(parts, meter))
    yield json.dumps(answer).encode()


def _asked(call: OpenAICall, meter: MeteredCall, body: bytes) -> AbstractContextManager[Iterator[bytes]]:
    """Ask the model. Only an engine that streams is asked for a stream: SageMaker's other call ends after a minute."""
    if call.engine_streams:
        return streaming_endpoint().stream(body, meter.segment)
    answer = streaming_endpoint().invoke(body, meter.segment).body
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

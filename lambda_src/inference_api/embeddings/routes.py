"""POST /embeddings and POST /rerank of a real-time endpoint, whose model answers at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from inference_api.embeddings.exchange import ReadVectors, VectorCall, exchange_of
from inference_api.http.gateway import Request, StreamedResponse
from inference_api.http.heartbeat import SPACE, opened
from inference_api.model import deployed_engine, metered_call
from inference_api.model.metered_call import MeteredCall
from inference_api.openai.routes import streaming_endpoint
from inference_api.shared import errors
from inference_api.shared.settings import settings
from inference_api.shared.time_budget import SILENCE

# A list becomes several calls of the engine, of which some run at once and together fill its batch. The thread of a
# call converts its answer while the engine works on others. A long list stays below SageMaker's minute on a small CPU.
_TEXTS_OF_A_CALL, _CALLS_AT_ONCE = 16, 4


def answered(request: Request, read: ReadVectors) -> StreamedResponse:
    """Answer a request. ApiError is raised before the model is asked; errors of the model come with the first piece."""
    deployed_engine.demand()
    exchange = read(request.body, request.content_type, request.key)
    meter = metered_call.admit(request, exchange.call.document)
    pieces, leave = meter.stream(_whole(exchange.asked, meter)), partial(meter.leave, streaming_endpoint().hang_up)
    return StreamedResponse(
        opened(pieces, SPACE, first_after=SILENCE, every=SILENCE, interrupt=leave), "application/json"
    )


def _whole(asked: VectorCall, meter: MeteredCall) -> Iterator[bytes]:
    parts: list[VectorCall] = list(asked.parts(min(settings().openai.most_texts or _TEXTS_OF_A_CALL, _TEXTS_OF_A_CALL)))
    shown: list[tuple[list[Any], int]] = []
    tokens = 0
    with ThreadPoolExecutor(_CALLS_AT_ONCE) as calls:
        for vectors in calls.map(partial(_shown, meter), parts):
            shown.append(vectors)
            tokens += vectors[1]
            meter(tokens, 0)
    yield asked.joined(shown)


def _shown(meter: MeteredCall, part: VectorCall) -> tuple[list[Any], int]:
    """Return what `part` shows of the engine's answer. Raises InvocationError, also for a caller who has hung up."""
    if meter.is_left:
        raise errors.endpoint_unreachable("the caller has hung up", ran=False)
    return part.shown(streaming_endpoint().invoke(exchange_of(part).call.unstreamed(), meter.segment).body)

"""CPU of this process per token: an engine's stream read, translated, and written into chunks; milliseconds."""

import contextlib
import io
import json
from time import process_time

from inference_api.heartbeat import opened
from inference_api.http import Request, StreamedResponse, streams
from inference_api.openai import sse
from inference_api.openai.parts import objects
from inference_api.streaming_runtime import _chunks

TOKENS = 20_000
CHUNK = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "delta": {"content": " token"}, "finish_reason": None}],
}
EVENT = {"requestContext": {"requestId": "r"}, "httpMethod": "POST", "resource": "/chat/completions"}


@streams
def route(request: Request) -> StreamedResponse:
    part = b"data: " + json.dumps(CHUNK).encode() + b"\n\n"
    return StreamedResponse(opened(sse.events(objects(part for _ in range(TOKENS)))))


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):  # its log line
        started = process_time()
        written = sum(1 for _ in _chunks(route(EVENT, None)))
        taken = process_time() - started
    assert written > TOKENS, "the stream ended early"
    print(1000 * taken / TOKENS)


main()

"""Prints what the function takes for a stream: CPU milliseconds for a token, milliseconds until the first event.

The argument is the route. Measured from SageMaker's event stream on a socket to the chunks for Lambda's Runtime API,
with the function's environment variables.
"""

import contextlib
import io
import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from tools.benchmarks.shared.pairs import work

TOKENS = work(20_000)
FIRST_EVENTS = work(100)
EVENT = Path(__file__).parents[3] / "tests" / "events" / "generate_with_iam.json"
_MOST_BYTES = 65_536  # at once, because the socket's buffer is small
# By route: a body, and how the route calls the most tokens of an answer.
BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "/chat/completions": ({"messages": [{"role": "user", "content": "What is a list?"}]}, "max_tokens"),
    "/responses": ({"input": "What is a list?"}, "max_output_tokens"),
}


def main(route: str) -> None:
    """Answer streams and print the two figures. Raises AssertionError if a token is missing."""
    with contextlib.redirect_stdout(io.StringIO()):  # its log lines
        per_token = _cpu_ms_per_token(_event(route))
        short = _event(route, **{BODIES[route][1]: 2})
        first = median(_first_event_ms(short) for _ in range(FIRST_EVENTS))
    print(json.dumps([per_token, first]))


def _event(route: str, **more: int) -> Mapping[str, Any]:
    body = json.dumps(BODIES[route][0] | {"stream": True} | more)
    return {**json.loads(EVENT.read_text()), "resource": route, "body": body}


def _cpu_ms_per_token(event: Mapping[str, Any]) -> float:
    from inference_api.handlers.generate import handler
    from inference_api.http.streaming_runtime import _chunks

    runtime_api, function = socket.socketpair()
    started = process_time()
    answer = handler(event, None)
    written = 0
    for chunk in _chunks(answer):
        written += b'" token"' in chunk
        for start in range(0, len(chunk), _MOST_BYTES):  # the last events of a response repeat the whole text
            function.sendall(chunk[start : start + _MOST_BYTES])
            runtime_api.recv(_MOST_BYTES)
    taken = process_time() - started
    assert (answer.status, written) == (200, TOKENS), (answer.status, written)
    return 1000 * taken / TOKENS


def _first_event_ms(event: Mapping[str, Any]) -> float:
    from inference_api.handlers.generate import handler

    started = perf_counter()
    answer = handler(event, None)
    next(answer.pieces)
    taken = perf_counter() - started
    for _ in answer.pieces:
        pass
    return 1000 * taken


if __name__ == "__main__":
    main(sys.argv[1])

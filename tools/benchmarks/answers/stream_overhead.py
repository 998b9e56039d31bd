"""Prints the CPU milliseconds that the function takes for a token of POST /chat/completions.

Measured from SageMaker's event stream on a socket to the chunks for Lambda's Runtime API, with the function's
environment variables.
"""

import contextlib
import io
import json
import socket
from pathlib import Path
from time import process_time

from tools.benchmarks.shared.pairs import work

TOKENS = work(20_000)
EVENT = Path(__file__).parents[3] / "tests" / "events" / "generate_with_iam.json"
BODY = {"messages": [{"role": "user", "content": "What is a list?"}], "stream": True}


def main() -> None:
    """Answer one stream and print the figure. Raises AssertionError if a token is missing."""
    from inference_api.handlers.generate import handler
    from inference_api.http.streaming_runtime import _chunks

    event = json.loads(EVENT.read_text()) | {"resource": "/chat/completions", "body": json.dumps(BODY)}
    runtime_api, function = socket.socketpair()
    with contextlib.redirect_stdout(io.StringIO()):  # its log line
        started = process_time()
        answer = handler(event, None)
        written = 0
        for chunk in _chunks(answer):
            function.sendall(chunk)
            written += b"data: {" in runtime_api.recv(len(chunk))
        taken = process_time() - started
    assert (answer.status, written) == (200, TOKENS), (answer.status, written)
    print(1000 * taken / TOKENS)


if __name__ == "__main__":
    main()

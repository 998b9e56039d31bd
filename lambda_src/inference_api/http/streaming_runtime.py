"""The event loop of a function that answers piece by piece; Lambda's own loop for Python can't stream.

A handler's module ends with `handler = serve(route)`. Lambda's loop imports the module before it asks for an event.
From then on this loop serves the Runtime API (AWS Lambda Developer Guide, "Building a custom runtime"). If the module
can't be imported, Lambda's loop reports it.
"""

import json
import os
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, NamedTuple, NoReturn

_PREFIX = "/2018-06-01/runtime/invocation"
_ERROR_TYPE, _ERROR_BODY = "Lambda-Runtime-Function-Error-Type", "Lambda-Runtime-Function-Error-Body"
_ATTEMPT = "Lambda-Runtime-Invocation-Id"  # sent back if it is given, as Lambda's own loop does
_STREAMING = {
    "Content-Type": "application/vnd.awslambda.http-integration-response",
    "Lambda-Runtime-Function-Response-Mode": "streaming",
    "Transfer-Encoding": "chunked",
    "Trailer": f"{_ERROR_TYPE}, {_ERROR_BODY}",
}


class Streamed(NamedTuple):
    """A response for API Gateway. The reader of the pieces must close them."""

    status: int
    headers: dict[str, str]
    pieces: Generator[bytes, None, None]


Route = Callable[[Mapping[str, Any], Any], Streamed]


@dataclass(frozen=True)
class Context:
    """The context of one event; attribute names as in Lambda's Python runtime."""

    aws_request_id: str
    invoked_function_arn: str
    deadline_in_ms: int

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline_in_ms - round(1000 * time.time()))


def serve(route: Route) -> Route:
    """In Lambda, answer events for ever. Elsewhere return the route."""
    if api := os.environ.get("AWS_LAMBDA_RUNTIME_API"):
        _serve(HTTPConnection(api), route)  # without a timeout: the next event may take hours
    return route


def close(pieces: Iterator[bytes]) -> None:
    """Close a generator, which may hold a connection open. Other iterators have nothing to close."""
    if isinstance(pieces, Generator):
        pieces.close()


def _serve(api: HTTPConnection, route: Route) -> NoReturn:
    while True:
        api.request("GET", f"{_PREFIX}/next")
        response = api.getresponse()
        event, headers = json.loads(response.read()), response.headers
        api.close()  # how long an idle connection lives is not documented, and an answer may take minutes
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
        context = Context(
            headers["Lambda-Runtime-Aws-Request-Id"],
            headers.get("Lambda-Runtime-Invoked-Function-Arn", ""),
            int(headers["Lambda-Runtime-Deadline-Ms"]),
        )
        attempt = {_ATTEMPT: headers[_ATTEMPT]} if _ATTEMPT in headers else {}
        place = f"{_PREFIX}/{context.aws_request_id}"
        try:
            answer = route(event, context)
        except Exception as error:
            _post(api, f"{place}/error", _failure(error), {_ERROR_TYPE: type(error).__name__, **attempt})
            continue
        with closing(answer.pieces), suppress(OSError, HTTPException):  # the reader hung up
            _post(api, f"{place}/response", _chunks(answer), {**_STREAMING, **attempt})


def _post(api: HTTPConnection, path: str, body: bytes | Iterator[bytes], headers: Mapping[str, str]) -> None:
    try:
        api.request("POST", path, body, headers)
        api.getresponse().read()
    finally:
        api.close()


def _chunks(answer: Streamed) -> Iterator[bytes]:
    """Yield the metadata, eight zero bytes, which JSON can't hold, and the body. The trailers report a failure."""
    yield _chunk(json.dumps({"statusCode": answer.status, "headers": answer.headers}).encode() + bytes(8))
    trailers = b""
    try:
        yield from (_chunk(piece) for piece in answer.pieces if piece)
    except Exception as error:
        failure = b64encode(_failure(error)).decode()
        trailers = f"{_ERROR_TYPE}: {type(error).__name__}\r\n{_ERROR_BODY}: {failure}\r\n".encode()
    yield b"0\r\n" + trailers + b"\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _failure(error: Exception) -> bytes:
    """Return Lambda's document for an exception, without its text, which can quote a prompt. Log it, too."""
    failure = {
        "errorType": type(error).__name__,
        "errorMessage": "",
        "stackTrace": traceback.format_tb(error.__traceback__),
    }
    print(json.dumps(failure), flush=True)
    return json.dumps(failure).encode()

"""API Gateway's event -> Request; Response or error -> API Gateway's answer."""

import json
from base64 import b64decode
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from math import inf
from time import perf_counter
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from inference_api.http.cors import cors_headers
from inference_api.http.streaming_runtime import Route, Streamed, close
from inference_api.keys.named_key import AuthorizedKey, caller_of_key, caller_of_token, hash_of_caller
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.log import log, place_of
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import logs_requests
from inference_api.shared.tracing import trace_id

Event = Mapping[str, Any]

SERVER_SENT_EVENTS = "text/event-stream"
_LATE_ERRORS = {SERVER_SENT_EVENTS: b"data: %b\n\n", "application/json": b"%b"}  # JSON: only spaces were sent before
_FIXED_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


@dataclass(frozen=True)
class Request:
    """One request of a route.

    caller: a hash that identifies the caller; None if the API is open. key: the caller's key, or group, if the
    deployment file names it. resource: the route's path in the API, such as "/jobs/{id}". ends_at: when Lambda kills
    the function, in seconds since the epoch. told: headers of the answer, also of an error, to which the route adds
    what it learns.
    """

    body: bytes
    content_type: str | None
    caller: str | None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    key: AuthorizedKey | None = None
    resource: str = ""
    ends_at: float = inf
    method: str = ""
    told: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_event(cls, event: Event) -> "Request":
        """Read API Gateway's event. Raises ApiError 401 for a key or token that expired after its authorizer ran."""
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        # For clients that can't add to a URL's query.
        waits = {"wait": headers["x-wait"]} if "x-wait" in headers else {}
        # surrogatepass: an invalid text must reach the body's rules, which refuse it with a 400.
        body = (event.get("body") or "").encode(errors="surrogatepass")
        authorizer = event["requestContext"].get("authorizer") or {}
        key = AuthorizedKey.from_context(authorizer)
        if "expires" in authorizer and float(authorizer["expires"]) <= runtime().now():
            raise errors.token_expired() if "subject" in authorizer else errors.key_expired()
        return cls(
            body=b64decode(body) if event.get("isBase64Encoded") else body,
            content_type=headers.get("content-type"),
            caller=_caller(event["requestContext"]),
            path=event.get("pathParameters") or {},
            query={**waits, **(event.get("queryStringParameters") or {})},
            idempotency_key=headers.get("idempotency-key"),
            key=key,
            resource=event.get("resource", ""),
            method=event.get("httpMethod", ""),
            told=key.limit_headers if key else {},
        )

    def whole_number(self, name: str, least: int, most: int, default: int) -> int:
        """Return a number from the query. Raises ApiError 400 if it is not a whole number from `least` to `most`."""
        text = self.query.get(name, str(default))
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
            message = f"{name}: must be a whole number from {least} to {most}."
            raise ApiError("invalid_parameter", message, field=name)
        return int(text)

    @property
    def owner(self) -> str:
        """The caller, as the owner of jobs. An open API takes no jobs."""
        assert self.caller
        return self.caller


@dataclass(frozen=True)
class Response:
    """A whole answer.

    body: an object, which is sent as JSON, or a text. location: relative to the request's own URL. is_final: tell
    clients of OpenAI, which repeat many requests by themselves, not to repeat this one.
    """

    status: int
    body: dict[str, Any] | str
    content_type: str = "application/json"
    retry_after_in_seconds: int | None = None
    location: str | None = None
    is_final: bool = False

    @property
    def text(self) -> str:
        return self.body if isinstance(self.body, str) else json.dumps(self.body)

    def headers(self, request_id: str) -> dict[str, str]:
        """Return the headers. API Gateway's own answers have the same (gateway_responses.py)."""
        headers = _headers(self.content_type, request_id)
        if self.retry_after_in_seconds is not None:
            headers["retry-after"] = str(self.retry_after_in_seconds)
        if self.location is not None:
            headers["location"] = self.location
        if self.is_final:
            headers["x-should-retry"] = "false"
        return headers

    def for_gateway(self, request_id: str) -> dict[str, Any]:
        """Return the answer as API Gateway takes it from a function that does not stream."""
        headers = self.headers(request_id)
        return {"statusCode": self.status, "headers": headers, "body": self.text, "isBase64Encoded": False}


@dataclass(frozen=True)
class StreamedResponse:
    """An answer that comes piece by piece. If its first piece raises an error, the error sets the status.

    last_words: the end of the answer for an error after the first piece; None for the error as every route writes it.
    """

    pieces: Iterator[bytes]
    content_type: str = SERVER_SENT_EVENTS
    status: int = 200
    last_words: Callable[[ApiError], bytes | None] = lambda error: None

    def end_with(self, error: ApiError) -> bytes | None:
        """Return the end of an answer whose first piece is sent. None: only a broken connection can tell the error."""
        words, plain = self.last_words(error), _LATE_ERRORS.get(self.content_type)
        return plain % json.dumps({"error": error.as_object()}).encode() if words is None and plain else words

    def headers(self, request_id: str) -> dict[str, str]:
        return _headers(self.content_type, request_id)


def _headers(content_type: str, request_id: str) -> dict[str, str]:
    return {"content-type": content_type, "x-request-id": request_id, **_FIXED_HEADERS}


def answers(route: Callable[[Request], Response]) -> Callable[[Event, Any], dict[str, Any]]:
    """Make a route the function's entry point: every outcome becomes a response and one line in the log."""

    @wraps(route)
    def entry_point(event: Event, context: Any) -> dict[str, Any]:
        call = _Call(event, context)
        response, _ = call.answer(lambda request: (route(request), b""))
        assert isinstance(response, Response)
        call.log(response.status, len(response.text.encode()))
        answer = response.for_gateway(call.request_id)
        return answer | {"headers": answer["headers"] | call.headers()}

    return entry_point


def streams(route: Callable[[Request], Response | StreamedResponse]) -> Route:
    """Make a route the entry point of the streaming runtime: every outcome becomes a response and one line in the log.

    The line is written when the last piece is sent, or when the caller hangs up.
    """

    @wraps(route)
    def entry_point(event: Event, context: Any) -> Streamed:
        call = _Call(event, context)
        response, first = call.answer(lambda request: _with_first_piece(route(request)))
        pieces = _logged_pieces(call, response, first)
        next(pieces)
        return Streamed(response.status, response.headers(call.request_id) | call.headers(), pieces)

    return entry_point


def _with_first_piece(response: Response | StreamedResponse) -> tuple[Response | StreamedResponse, bytes]:
    return response, next(response.pieces, b"") if isinstance(response, StreamedResponse) else b""


def _logged_pieces(call: "_Call", response: Response | StreamedResponse, first: bytes) -> Generator[bytes, None, None]:
    """Yield an empty piece, then the pieces of the body.

    The empty piece is taken at once. Only a generator that has begun runs its `finally` when it is closed, so an answer
    that is never sent is logged, too.
    """
    first_byte_ms, size, hung_up = call.milliseconds(), 0, True
    rest: Iterator[bytes] = iter(())
    if isinstance(response, StreamedResponse):
        rest = response.pieces
    else:
        first = response.text.encode()
    try:
        yield b""
        size = len(first)
        yield first
        for piece in rest:
            size += len(piece)
            yield piece
        hung_up = False
    except Exception as error:
        hung_up, failure = False, call.failed(error)
        text = response.end_with(failure) if isinstance(response, StreamedResponse) else None
        if text is None:
            raise
        size += len(text)
        yield text
    finally:
        close(rest)
        call.log(response.status, size, first_byte_ms=first_byte_ms, hung_up=hung_up)


class _Call:
    """One event, its outcome, and its line in the log."""

    def __init__(self, event: Event, context: Any) -> None:
        self._event, self._context, self._started = event, context, perf_counter()
        self._route: str | None = None
        self._request: Request | None = None
        self._failure: ApiError | None = None
        self.request_id: str = getattr(context, "aws_request_id", "")

    def answer(
        self, route: Callable[[Request], tuple[Response | StreamedResponse, bytes]]
    ) -> tuple[Response | StreamedResponse, bytes]:
        try:
            ends_at = _limit_time(self._context)
            self.request_id = self._event["requestContext"]["requestId"]
            self._route = f"{self._event['httpMethod']} {self._event['resource']}"
            self._request = replace(Request.from_event(self._event), ends_at=ends_at)
            return route(self._request)
        except Exception as error:
            return _error_response(self.failed(error)), b""

    def failed(self, error: Exception) -> ApiError:
        self._failure = failure_of(error)
        return self._failure

    def headers(self) -> dict[str, str]:
        """Return the headers that every answer has."""
        told = self._request.told if self._request else {}
        of_error: dict[str, str] = self._failure.headers if self._failure else {}
        spent = {"openai-processing-ms": str(round(self.milliseconds()))}
        trace = {"x-trace-id": found} if (found := trace_id()) else {}
        return spent | trace | told | of_error | cors_headers(self._event.get("headers") or {})

    def milliseconds(self) -> float:
        return round(1000 * (perf_counter() - self._started), 1)

    def log(self, status: int, bytes_out: int, **more: Any) -> None:
        """Write the log line. It holds body sizes and the caller's hash, but no texts.

        A deployment with `logs.requests: none` gets it only for a failure, and without those.
        """
        if not logs_requests() and max(status, self._failure.status if self._failure else 0) < 500:
            return
        request, failure = self._request, self._failure
        outcome = {
            "request_id": self.request_id,
            "route": self._route,
            "status": status,
            "code": failure.code if failure else None,
            "cause": failure.cause if failure else None,
            "latency_ms": self.milliseconds(),
            "bytes_in": len(request.body) if request else None,
            "bytes_out": bytes_out,
            "caller": request.caller if request else None,
        }
        log(outcome | more)


def _limit_time(context: Any) -> float:
    """Limit calls of AWS to the function's time. Return when Lambda kills the function, which leaves no answer."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    ends_at = runtime().now() + remaining() / 1000 if remaining else inf
    runtime().answer_before(ends_at)
    return ends_at


def _error_response(error: ApiError) -> Response:
    return Response(
        error.status,
        {"error": error.as_object()},
        retry_after_in_seconds=error.retry_after_in_seconds,
        is_final=error.is_final,
    )


def failure_of(error: Exception) -> ApiError:
    """Return the error that the caller gets for an exception."""
    if isinstance(error, ApiError):
        return error
    return _overloaded(error) or errors.internal_error(place_of(error))


def _overloaded(error: Exception) -> ApiError | None:
    """Return a 503 if a service behind the function is throttled, down or slow; None for other exceptions."""
    if isinstance(error, ClientError):
        status, cause = error.response["ResponseMetadata"]["HTTPStatusCode"], str(error.response["Error"].get("Code"))
        passing = ("Throttl", "Throughput", "Conflict", "LimitExceeded")
        passes = status >= 500 or status == 429 or any(word in cause for word in passing)
    else:
        passes, cause = isinstance(error, errors.BusyError | ConnectionError | HTTPClientError), type(error).__name__
    if not passes:
        return None
    return errors.overloaded(cause)


def _caller(context: Mapping[str, Any]) -> str | None:
    """Return the hash that identifies the caller; None if the API is open.

    context: the request's, as API Gateway gives it.
    """
    identity, authorizer = context.get("identity") or {}, context.get("authorizer") or {}
    if identity.get("caller"):
        # After the colon comes a session name, which the caller chooses freely.
        caller = f"{identity.get('accountId')}/{identity['caller'].partition(':')[0]}"
    elif authorizer.get("subject"):
        caller = caller_of_token(authorizer["subject"])
    elif authorizer.get("key"):
        caller = caller_of_key(authorizer["key"])
    elif identity.get("apiKeyId"):
        caller = f"key/{identity['apiKeyId']}"
    elif token := authorizer.get("principalId"):
        caller = f"token/{token}"
    else:
        return None
    return hash_of_caller(caller)

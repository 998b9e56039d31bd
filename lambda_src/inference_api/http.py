"""API Gateway's event -> Request; Response or error -> API Gateway's answer."""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from hashlib import sha256
from math import inf
from time import perf_counter
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from inference_api import errors
from inference_api.errors import ApiError
from inference_api.log import log
from inference_api.named_key import NamedKey, principal_of
from inference_api.runtime import runtime

Event = Mapping[str, Any]

_FIXED_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


@dataclass(frozen=True)
class Request:
    """One call of a route. `caller` is a hash of the authenticated principal; None where the API is open.

    key: the one that the deployment names, None for any other caller. resource: the route's path in the API, as
    "/jobs/{id}".
    """

    body: bytes
    content_type: str | None
    caller: str | None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    key: NamedKey | None = None
    resource: str = ""
    method: str = ""

    @classmethod
    def from_event(cls, event: Event) -> "Request":
        """Raises ApiError 401 for a key that has expired since its authorizer was asked."""
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        # surrogatepass: the body's rules refuse an invalid text, as a 400.
        body = (event.get("body") or "").encode(errors="surrogatepass")
        key = NamedKey.from_context(event["requestContext"].get("authorizer") or {})
        if key and key.expires is not None and key.expires <= runtime().now():
            raise errors.key_expired()
        return cls(
            body=b64decode(body) if event.get("isBase64Encoded") else body,
            content_type=headers.get("content-type"),
            caller=_caller(event["requestContext"], key),
            path=event.get("pathParameters") or {},
            query=event.get("queryStringParameters") or {},
            idempotency_key=headers.get("idempotency-key"),
            key=key,
            resource=event.get("resource", ""),
            method=event.get("httpMethod", ""),
        )

    def whole_number(self, name: str, least: int, most: int, default: int) -> int:
        """A parameter of the query. Raises ApiError 400."""
        text = self.query.get(name, str(default))
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
            message = f"{name}: must be a whole number from {least} to {most}."
            raise ApiError(400, "invalid_parameter", message, field=name)
        return int(text)

    @property
    def owner(self) -> str:
        """The caller as the owner of jobs; an open API takes no jobs."""
        assert self.caller
        return self.caller


@dataclass(frozen=True)
class Response:
    """`body`: an object to be sent as JSON, or text; `location` is relative to the request's own URL."""

    status: int
    body: dict[str, Any] | str
    content_type: str = "application/json"
    retry_after_in_seconds: int | None = None
    location: str | None = None

    def for_gateway(self, request_id: str) -> dict[str, Any]:
        """As API Gateway takes it. The gateway's own answers have the same headers (gateway_responses.py)."""
        headers = {"content-type": self.content_type, "x-request-id": request_id, **_FIXED_HEADERS}
        if self.retry_after_in_seconds is not None:
            headers["retry-after"] = str(self.retry_after_in_seconds)
        if self.location is not None:
            headers["location"] = self.location
        body = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return {"statusCode": self.status, "headers": headers, "body": body, "isBase64Encoded": False}


def answers(route: Callable[[Request], Response]) -> Callable[[Event, Any], dict[str, Any]]:
    """Make a route the function's entry point: every outcome becomes a response and one line in the log."""

    @wraps(route)
    def entry_point(event: Event, context: Any) -> dict[str, Any]:
        started = perf_counter()
        request, failure, route_name = None, None, None
        request_id = getattr(context, "aws_request_id", "")
        try:
            _limit_time(context)
            request_id = event["requestContext"]["requestId"]
            route_name = f"{event['httpMethod']} {event['resource']}"
            request = Request.from_event(event)
            response = route(request)
        except ApiError as error:
            failure, response = error, _error_response(error)
        except Exception as error:
            failure = _overloaded(error) or errors.internal_error(place_of(error))
            response = _error_response(failure)
        answer = response.for_gateway(request_id)
        outcome = {
            "request_id": request_id,
            "route": route_name,
            "status": response.status,
            "code": failure.code if failure else None,
            "cause": failure.cause if failure else None,
            "latency_ms": round(1000 * (perf_counter() - started), 1),
        }
        log(outcome | _sizes_and_caller(request, answer["body"]))
        return answer

    return entry_point


def _limit_time(context: Any) -> None:
    """A function that is killed at its timeout gives its caller no answer."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    runtime().answer_before(runtime().now() + remaining() / 1000 if remaining else inf)


def _error_response(error: ApiError) -> Response:
    body = {"code": error.code, "message": error.message} | ({"field": error.field} if error.field else {})
    return Response(error.status, {"error": body}, retry_after_in_seconds=error.retry_after_in_seconds)


def _sizes_and_caller(request: Request | None, body: str) -> dict[str, Any]:
    """Logs body sizes and caller hash only."""
    return {
        "bytes_in": len(request.body) if request else None,
        "bytes_out": len(body.encode()),
        "caller": request.caller if request else None,
    }


def _overloaded(error: Exception) -> ApiError | None:
    """A 503 where a service behind the function is throttled, down or slow."""
    if isinstance(error, ClientError):
        status, cause = error.response["ResponseMetadata"]["HTTPStatusCode"], str(error.response["Error"].get("Code"))
        passing = ("Throttl", "Throughput", "Conflict", "LimitExceeded")
        passes = status >= 500 or status == 429 or any(word in cause for word in passing)
    else:
        passes, cause = isinstance(error, errors.BusyError | ConnectionError | HTTPClientError), type(error).__name__
    if not passes:
        return None
    return errors.overloaded(cause)


def place_of(error: Exception) -> str:
    """Class and place of an exception, for the log: its text can quote a prompt."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "unknown"
    return f"{type(error).__name__} at {place}"


def _caller(context: Mapping[str, Any], key: NamedKey | None) -> str | None:
    """context: of the request, as API Gateway gives it."""
    identity = context.get("identity") or {}
    if identity.get("caller"):
        # After the colon comes a session name, which the caller chooses freely.
        principal = f"{identity.get('accountId')}/{identity['caller'].partition(':')[0]}"
    elif key:
        principal = principal_of(key.name)
    elif identity.get("apiKeyId"):
        principal = f"key/{identity['apiKeyId']}"
    elif token := (context.get("authorizer") or {}).get("principalId"):
        principal = f"token/{token}"
    else:
        return None
    return sha256(principal.encode()).hexdigest()[:32]

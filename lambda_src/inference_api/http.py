"""A gateway event turned into a request, and a result or an error turned into what the gateway sends."""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from time import perf_counter
from typing import Any

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One call of a route. `caller` is a hash that names whoever was authenticated; None where nobody has to be."""

    body: bytes
    content_type: str | None
    caller: str | None

    @classmethod
    def from_event(cls, event: Event) -> "Request":
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        # surrogatepass: whether the text is valid is for the body's rules to say, as a 400.
        body = (event.get("body") or "").encode(errors="surrogatepass")
        return cls(
            body=b64decode(body) if event.get("isBase64Encoded") else body,
            content_type=headers.get("content-type"),
            caller=_caller(event["requestContext"].get("identity") or {}),
        )


@dataclass(frozen=True)
class Response:
    """`body` is JSON to be written, or text that goes out as it is."""

    status: int
    body: dict[str, Any] | str
    content_type: str = "application/json"
    retry_after_in_seconds: int | None = None

    def for_gateway(self, request_id: str) -> dict[str, Any]:
        headers = {
            "content-type": self.content_type,
            "x-request-id": request_id,
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
        }
        if self.retry_after_in_seconds is not None:
            headers["retry-after"] = str(self.retry_after_in_seconds)
        body = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return {"statusCode": self.status, "headers": headers, "body": body, "isBase64Encoded": False}


class ApiError(Exception):
    """An answer other than the one asked for; `message` is for the caller, only `code` and `cause` are logged."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        retry_after_in_seconds: int | None = None,
        cause: str | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.cause = cause
        error = {"code": code, "message": message} | ({"field": field} if field else {})
        self.response = Response(status, {"error": error}, retry_after_in_seconds=retry_after_in_seconds)


def answers(route: Callable[[Request], Response]) -> Callable[[Event, Any], dict[str, Any]]:
    """Make a route the function's entry point: every outcome becomes a response, and one line in the log."""

    @wraps(route)
    def entry_point(event: Event, context: Any) -> dict[str, Any]:
        started = perf_counter()
        request, failure, route_name = None, None, None
        request_id = getattr(context, "aws_request_id", "")
        try:
            request_id = event["requestContext"]["requestId"]
            route_name = f"{event['httpMethod']} {event['resource']}"
            request = Request.from_event(event)
            response = route(request)
        except ApiError as error:
            failure, response = error, error.response
        except Exception as error:
            failure = _unexpected(error)
            response = failure.response
        answer = response.for_gateway(request_id)
        outcome = {
            "request_id": request_id,
            "route": route_name,
            "status": response.status,
            "code": failure.code if failure else None,
            "cause": failure.cause if failure else None,
            "latency_ms": round(1000 * (perf_counter() - started), 1),
        }
        print(json.dumps(outcome | _sizes_and_caller(request, answer["body"])))
        return answer

    return entry_point


def _sizes_and_caller(request: Request | None, body: str) -> dict[str, Any]:
    """All that the log may know of the texts: how long they are, and whose."""
    return {
        "bytes_in": len(request.body) if request else None,
        "bytes_out": len(body.encode()),
        "caller": request.caller if request else None,
    }


def _unexpected(error: Exception) -> ApiError:
    """A 500 that is logged by class and place alone: an exception's text can quote a prompt."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "unknown"
    message = "The service failed on its own account; report the x-request-id of this response if it happens again."
    return ApiError(500, "internal_error", message, cause=f"{type(error).__name__} at {place}")


def _caller(identity: Mapping[str, Any]) -> str | None:
    if identity.get("caller"):
        # What follows the colon is a session name, which the caller chooses freely.
        principal = f"{identity.get('accountId')}/{identity['caller'].partition(':')[0]}"
    elif identity.get("apiKeyId"):
        principal = f"key/{identity['apiKeyId']}"
    else:
        return None
    return sha256(principal.encode()).hexdigest()[:12]

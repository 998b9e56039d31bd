"""The hooks in front of the emulator's services: every signed call passes here before anything else sees it."""

import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator import hooks

_app = hooks.internals(
    "ministack.app", "_dispatch_service_request", "_routing_params", "detect_service", "pin_request_origin"
)
_iam_actions = hooks.internals("ministack.core.iam_actions", "extract_iam_action")
_iam_evaluator = hooks.internals("ministack.core.iam_evaluator", "_request_origin")
_router = hooks.internals("ministack.core.router", "extract_access_key_id")
_sts = hooks.internals("ministack.services.sts", "_sessions")

# Where the name of an operation is not that of its IAM action.
_OPERATIONS = {
    "lambda:InvokeFunction": "Invoke",
    "s3:ListAllMyBuckets": "ListBuckets",
    "s3:ListBucket": "ListObjectsV2",
    "s3:ListBucketVersions": "ListObjectVersions",
}

Proceed = Callable[[], Awaitable[hooks.Answer]]


@dataclass(frozen=True)
class ServiceCall:
    """One call to an AWS service; `session` is the session name of temporary credentials, a function's name for one."""

    service: str
    operation: str
    session: str
    trace_id: str


def answer_calls_with(
    answer: Callable[[ServiceCall, Proceed], Awaitable[hooks.Answer]], when: Callable[[], Any]
) -> None:
    """Send every call to a service through answer(call, proceed) while `when` holds."""
    dispatch = _app._dispatch_service_request

    async def dispatch_service_request(method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        proceed = functools.partial(dispatch, method, path, headers, body, *rest)
        if not when():
            return await proceed()
        return await answer(_read_call(method, path, headers, body, rest[0]), proceed)

    _app._dispatch_service_request = dispatch_service_request


def _read_call(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> ServiceCall:
    parameters = _app._routing_params(method, path, headers, body, query)
    service = _app.detect_service(method, path, headers, parameters)
    action = str(_iam_actions.extract_iam_action(service, method, path, headers, body, parameters))
    operation = _OPERATIONS.get(action, action.rpartition(":")[2])
    if service == "s3" and method == "HEAD":
        operation = "HeadObject" if operation == "GetObject" else "HeadBucket"
    session = _sts._sessions.get(_router.extract_access_key_id(headers, query), {})
    name = str(session.get("Arn", "")).rpartition("/")[2]
    return ServiceCall(service, operation, name, headers.get("x-amzn-trace-id", ""))


def _count_the_loopback_as_tls() -> None:
    # Functions reach the cloud over plain HTTP; policies that demand TLS are as they are on AWS.
    pin = _app.pin_request_origin

    def pin_request_origin(address: str, secure: bool) -> None:
        pin(address, secure or address == "127.0.0.1")

    _app.pin_request_origin = pin_request_origin
    # What runs outside of a request is done by an AWS service.
    _iam_evaluator._request_origin = ContextVar("request_origin", default=("127.0.0.1", True))


_count_the_loopback_as_tls()

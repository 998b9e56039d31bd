"""One call of a REST API, from its arrival to its line in the access log."""

import re
import time
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, unquote

from local_cloud.callers import SOURCE_HEADER
from local_cloud.emulator.apigateway.addresses import address_of
from local_cloud.emulator.core import ministack
from local_cloud.emulator.lambda_.invocations import caller_trace
from local_cloud.emulator.xray.requests import Trace, trace_of_caller

_app = ministack.internals("ministack.app", "_handle_execute_api_request")
_evaluator = ministack.internals("ministack.core.iam_evaluator", "pin_request_origin")
_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_match_resource_tree",
    "_media_type_matches",
    "_rest_apis",
    "_stages_v1",
    "new_uuid",
)

# Replaces an escaped slash while MiniStack looks for the route: on AWS it is part of its path segment.
_ESCAPED_SLASH = "\ue000"


@dataclass
class RestCall:
    """A request to a REST API and what is known of it until its answer.

    vpc_endpoint: the endpoint that it came through; empty = none.
    """

    api_id: str
    stage_name: str
    method: str
    path: str
    headers: dict[str, str]
    query: dict[str, list[str]]
    body_size: int
    is_text: bool
    account: str
    region: str
    vpc_endpoint: str = ""
    source_ip: str = "127.0.0.1"
    started: float = field(default_factory=time.time)
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    resource_path: str = ""
    identity: dict[str, Any] = field(default_factory=dict)
    api_key: dict[str, str] = field(default_factory=dict)
    usage_key: str = ""  # the API key that an authorizer returned
    authorizer_context: dict[str, str] = field(default_factory=dict)
    error: Any = None
    function_failure: str = ""
    integration_milliseconds: int | None = None
    transfer_mode: str = ""  # how the integration's answer was transferred: BUFFERED or STREAMED
    milliseconds_to_headers: int | None = None
    milliseconds_to_content: int | None = None
    stream: Any = None  # the response_stream.Stream whose body follows, None for none
    status: int = 0
    response_length: int = 0
    trace: Trace | None = None  # None = the stage is not traced

    @property
    def stage(self) -> dict[str, Any]:
        """The stage's settings, empty if the stage does not exist."""
        with ministack.scope(self.account, self.region):
            return dict(_gateway._stages_v1.get(self.api_id, {}).get(self.stage_name) or {})


_current: ContextVar[RestCall | None] = ContextVar("rest_call", default=None)


def variables_of(call: RestCall) -> dict[str, str]:
    """The values of $context that a header of the gateway's own answer may have here."""
    return {"context.requestId": call.request_id} | ({"context.xrayTraceId": call.trace.root} if call.trace else {})


def current_call() -> RestCall | None:
    """The REST call that is being answered, otherwise None."""
    return _current.get()


def answer_calls_with(
    answer: Callable[[RestCall, Callable[[], Awaitable[ministack.Answer]]], Awaitable[ministack.Answer]],
) -> None:
    """Answer every request to a REST API with answer(call, proceed)."""
    original = _app._handle_execute_api_request

    async def handle(host: str, path: str, method: str, headers: Any, body: bytes, query: Any, **raw: Any) -> Any:
        path = _with_escaped_slashes(path, raw.get("raw_path") or "")
        found = address_of(host, path, headers)
        if found is None:
            return await original(host, path, method, headers, body, query, **raw)
        # The source address comes from the connection, or from a header that only this cloud knows.
        source_ip = str(ip_address(headers.pop(SOURCE_HEADER, "127.0.0.1")))
        headers["x-forwarded-for"] = source_ip
        _evaluator.pin_request_origin(source_ip, True)
        call = RestCall(
            found.api_id,
            found.stage_name,
            method,
            found.path,
            headers,
            query,
            len(body),
            _is_text(body) or _is_binary(found.api_id, headers, found.owner),
            *found.owner,
            found.vpc_endpoint,
            source_ip,
        )
        if call.stage.get("tracingEnabled"):
            call.trace = trace_of_caller(headers.get("x-amzn-trace-id", ""))
        token, traced = _current.set(call), caller_trace.set(call.trace)
        try:
            # An unsigned request names no account; it belongs to the account of the API.
            with ministack.scope(*found.owner):
                return await answer(
                    call, lambda: original("127.0.0.1", found.own_path, method, headers, body, query, **raw)
                )
        finally:
            _current.reset(token)
            caller_trace.reset(traced)

    _app._handle_execute_api_request = handle


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(api_id: str, headers: Any, owner: tuple[str, str]) -> bool:
    """Whether a body of this type reaches the function as base64."""
    with ministack.scope(*owner):
        types = _gateway._rest_apis[api_id].get("binaryMediaTypes") or []
        return bool(_gateway._media_type_matches(headers.get("content-type"), types))


def _with_escaped_slashes(path: str, raw_path: str) -> str:
    if "%2f" not in raw_path.lower():
        return path
    return unquote(re.sub("%2f", quote(_ESCAPED_SLASH), raw_path, flags=re.IGNORECASE))


def keep_escaped_slashes() -> None:
    """Pass an escaped slash in a path parameter to functions unchanged."""
    match = _gateway._match_resource_tree

    def matched(api_id: str, parts: list[str]) -> Any:
        resource, found = match(api_id, parts)
        return resource, {name: value.replace(_ESCAPED_SLASH, "%2F") for name, value in (found or {}).items()}

    _gateway._match_resource_tree = matched


def share_one_request_id() -> None:
    """Use one request id in the event, the gateway responses and the answer's header, as on AWS."""
    new_id = _gateway.new_uuid

    def request_id() -> str:
        call = current_call()
        return call.request_id if call else str(new_id())

    _gateway.new_uuid = request_id

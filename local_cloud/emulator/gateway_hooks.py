"""The hooks in the emulator's API Gateway."""

import functools
import re
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from local_cloud.emulator import hooks

_app = hooks.internals("ministack.app", "_enforce_execute_api", "_handle_execute_api_request", "_parse_execute_api_url")
_gateway = hooks.internals(
    "ministack.services.apigateway_v1",
    "_account_settings",
    "_build_lambda_event_v1",
    "_extract_lambda_ref_from_integration_uri",
    "_iam_caller_identity",
    "_invoke_lambda_proxy_v1",
    "_lambda_proxy_response",
    "_match_resource_tree",
    "_resolve_api_key",
    "_rest_apis.all_items",
    "_stages_v1",
    "method_authorization_type",
    "new_uuid",
)
_signatures = hooks.internals("ministack.core.sigv4", "parse_header_signature", "parse_query_signature")


@dataclass
class RestCall:
    """One request to a REST API, from its arrival to its access log."""

    api_id: str
    stage_name: str
    method: str
    path: str
    headers: dict[str, str]
    query: dict[str, list[str]]
    body_size: int
    account: str
    region: str
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    resource_path: str = ""
    identity: dict[str, Any] = field(default_factory=dict)
    api_key: dict[str, str] = field(default_factory=dict)
    error: Any = None
    function_failure: str = ""
    integration_milliseconds: int | None = None


Decide = Callable[[], hooks.Answer | None]
_current: ContextVar[RestCall | None] = ContextVar("rest_call", default=None)


def current_call() -> RestCall | None:
    """The REST call that is being answered, None outside of one."""
    return _current.get()


def stage_of(call: RestCall) -> dict[str, Any]:
    """The stage's settings, empty when there is no such stage."""
    with hooks.scope(call.account, call.region):
        return dict(_gateway._stages_v1.get(call.api_id, {}).get(call.stage_name) or {})


def signature_scope(call: RestCall) -> tuple[str, str] | None:
    """The (region, service) that the request is signed for; None without a signature that can be read."""
    if call.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"):
        signature = _signatures.parse_header_signature(call.headers)
    elif "X-Amz-Signature" in call.query:
        signature = _signatures.parse_query_signature(call.query)
    else:
        return None
    return None if isinstance(signature, tuple) else (signature.region, signature.service)


def caller_identity(call: RestCall) -> dict[str, Any]:
    """The identity fields of the IAM principal that signed the request."""
    with hooks.scope(call.account, call.region):
        return _gateway._iam_caller_identity(call.headers, call.query) or {}


def _owner_of_api(api_id: str) -> tuple[str, str] | None:
    """The account and the region of a REST API."""
    return next((key[:2] for key, _ in _gateway._rest_apis.all_items() if key[2] == api_id), None)


def answer_rest_calls_with(
    answer: Callable[[RestCall, Callable[[], Awaitable[hooks.Answer]]], Awaitable[hooks.Answer]],
) -> None:
    """Send every request to a REST API through answer(call, proceed)."""
    original = _app._handle_execute_api_request

    async def handle(host: str, path: str, method: str, headers: Any, body: bytes, query: Any, **raw: Any) -> Any:
        path = _with_escaped_slashes(path, raw.get("raw_path") or "")
        parsed = _app._parse_execute_api_url(host, path)
        owner = _owner_of_api(parsed[0]) if parsed else None
        if owner is None:
            return await original(host, path, method, headers, body, query, **raw)
        # Only the connection says where a request comes from; a client's own header must not.
        headers["x-forwarded-for"] = "127.0.0.1"
        call = RestCall(parsed[0], parsed[1], method, parsed[2], headers, query, len(body), *owner)
        token = _current.set(call)
        try:
            # An unsigned request names no account, yet it belongs to the account of the API.
            with hooks.scope(*owner):
                return await answer(call, lambda: original(host, path, method, headers, body, query, **raw))
        finally:
            _current.reset(token)

    _app._handle_execute_api_request = handle


# Stands for an escaped slash while the emulator looks for the route: on AWS it is part of its segment.
_ESCAPED_SLASH = "\ue000"


def _with_escaped_slashes(path: str, raw_path: str) -> str:
    if "%2f" not in raw_path.lower():
        return path
    return unquote(re.sub("%2f", quote(_ESCAPED_SLASH), raw_path, flags=re.IGNORECASE))


def without_escapes(text: str) -> str:
    """A path, or a part of it, as the caller meant it."""
    return text.replace(_ESCAPED_SLASH, "/")


def authorize_rest_calls_with(authorize: Callable[[RestCall, str, Decide], hooks.Answer | None]) -> None:
    """Decide with authorize(call, the method's authorization type or "", the emulator's own decision)."""
    original = _app._enforce_execute_api

    def enforce(api_id: str, stage: str, method: str, path: str, *rest: Any, **named: Any) -> Any:
        decide = functools.partial(original, api_id, stage, method, path, *rest, **named)
        call = current_call()
        if call is None:
            return decide()
        _match_resource(call)
        return authorize(call, _gateway.method_authorization_type(api_id, stage, method, path) or "", decide)

    _app._enforce_execute_api = enforce


def _match_resource(call: RestCall) -> None:
    with hooks.scope(call.account, call.region):
        resource, _ = _gateway._match_resource_tree(call.api_id, [part for part in call.path.split("/") if part])
        key = _gateway._resolve_api_key(call.headers.get("x-api-key", ""))
    if resource:
        call.resource_path = resource["path"]
        method = resource["resourceMethods"].get(call.method) or {}
        call.api_key = {"apiKey": key["value"], "apiKeyId": key["id"]} if key and method.get("apiKeyRequired") else {}


def _share_one_request_id() -> None:
    # The event, the gateway responses and the answer's header carry the id of the call, as on AWS.
    new_id = _gateway.new_uuid

    def request_id() -> str:
        call = current_call()
        return call.request_id if call else str(new_id())

    _gateway.new_uuid = request_id


_IAM_IDENTITY_FIELDS = ("accessKey", "accountId", "caller", "user", "userArn", "principalOrgId")


def _complete_identity_in_events() -> None:
    build_event = _gateway._build_lambda_event_v1

    def build_complete_event(*args: Any, **named: Any) -> dict[str, Any]:
        event: dict[str, Any] = build_event(*args, **named)
        call = current_call()
        if call is not None:
            context = event["requestContext"]
            context["identity"] = dict.fromkeys(_IAM_IDENTITY_FIELDS) | call.api_key | context["identity"]
            context["domainName"] = call.headers.get("host", "")
            context["path"], event["path"] = without_escapes(context["path"]), without_escapes(event["path"])
            parameters = event["pathParameters"] or {}
            event["pathParameters"] = {name: without_escapes(each) for name, each in parameters.items()} or None
        return event

    _gateway._build_lambda_event_v1 = build_complete_event


_share_one_request_id()
_complete_identity_in_events()


Invoke = Callable[[RestCall, dict[str, Any], Callable[[], Awaitable[Any]]], Awaitable[Any]]


def invoke_functions_with(invoke: Invoke, failure_of: Callable[[dict[str, Any]], str]) -> None:
    """Run proxy integrations through invoke(call, integration, proceed).

    failure_of(result) names why a function's result is no answer, "" when it is one.
    """
    proxy, interpret = _gateway._invoke_lambda_proxy_v1, _gateway._lambda_proxy_response

    async def invoke_proxy(integration: dict[str, Any], *args: Any, **named: Any) -> Any:
        call = current_call()
        proceed = functools.partial(proxy, integration, *args, **named)
        return await (invoke(call, integration, proceed) if call else proceed())

    def interpret_result(result: dict[str, Any]) -> Any:
        call = current_call()
        if call is None:
            return interpret(result)
        call.function_failure = failure_of(result)
        if call.function_failure:
            return None, call.function_failure
        return interpret(result)

    _gateway._invoke_lambda_proxy_v1 = invoke_proxy
    _gateway._lambda_proxy_response = interpret_result


def function_behind(integration: dict[str, Any]) -> str:
    """The ARN of the function that an integration names."""
    return str(_gateway._extract_lambda_ref_from_integration_uri(integration.get("uri", "")))


def gateway_log_role() -> str:
    """The role with which API Gateway writes logs in this account and region, "" when none is set."""
    return str((_gateway._account_settings.get("settings") or {}).get("cloudwatchRoleArn") or "")


def set_access_log(api_id: str, stage_name: str, settings: dict[str, str]) -> None:
    _gateway._stages_v1[api_id][stage_name]["accessLogSettings"] = settings

"""The part of the hooks that API Gateway, Lambda and CloudFormation need; see hooks.py for the rule."""

import asyncio
import functools
import importlib
import socket
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from local_cloud.emulator import hooks

REQUIRED: dict[str, tuple[str, ...]] = {
    "ministack.app": ("_enforce_execute_api", "_handle_execute_api_request", "_parse_execute_api_url", "app"),
    "ministack.core.iam_evaluator": ("evaluate_resource_policy",),
    "ministack.core.lambda_runtime": ("_PYTHON_WORKER_SCRIPT", "Worker", "reset"),
    "ministack.core.sigv4": ("parse_header_signature", "parse_query_signature"),
    "ministack.services.apigateway_v1": (
        "_GATEWAY_RESPONSE_ERROR_TYPES",
        "_GatewayError",
        "_account_settings",
        "_build_lambda_event_v1",
        "_deployed_gateway_responses",
        "_execute_in_scope",
        "_extract_lambda_ref_from_integration_uri",
        "_gateway_error_response",
        "_gateway_response_family",
        "_gateway_response_for_type",
        "_iam_caller_identity",
        "_invoke_lambda_proxy_v1",
        "_lambda_proxy_response",
        "_match_resource_tree",
        "_resolve_api_key",
        "_rest_apis",
        "_stages_v1",
        "method_authorization_type",
        "new_uuid",
    ),
    "ministack.services.cloudwatch_logs": ("_append_log_events", "_log_groups"),
    "ministack.services.lambda_svc": ("_emit_lambda_logs", "_functions", "_get_func_record_for_ref"),
}

hooks.check_emulator(REQUIRED)

_evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
_gateway: Any = importlib.import_module("ministack.services.apigateway_v1")
_lambda: Any = importlib.import_module("ministack.services.lambda_svc")
_logs: Any = importlib.import_module("ministack.services.cloudwatch_logs")
_provisioners: Any = importlib.import_module("ministack.services.cloudformation.provisioners")
_runtime: Any = importlib.import_module("ministack.core.lambda_runtime")
_signatures: Any = importlib.import_module("ministack.core.sigv4")


async def serve(listener: socket.socket) -> None:
    """Answer HTTP on the listener until cancelled."""
    config: Any = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    server: Any = importlib.import_module("hypercorn.asyncio")
    await server.serve(hooks.app.app, config, shutdown_trigger=asyncio.Event().wait)


# API Gateway: one request to a REST API


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
    function_status: int | None = None
    integration_milliseconds: int | None = None


Decide = Callable[[], hooks.Answer | None]
_current: ContextVar[RestCall | None] = ContextVar("rest_call", default=None)


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
    original = hooks.app._handle_execute_api_request

    async def handle(host: str, path: str, method: str, headers: Any, body: bytes, query: Any, **raw: Any) -> Any:
        parsed = hooks.app._parse_execute_api_url(host, path)
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

    hooks.app._handle_execute_api_request = handle


def authorize_rest_calls_with(authorize: Callable[[RestCall, str, Decide], hooks.Answer | None]) -> None:
    """Decide with authorize(call, the method's authorization type or "", the emulator's own decision)."""
    original = hooks.app._enforce_execute_api

    def enforce(api_id: str, stage: str, method: str, path: str, *rest: Any, **named: Any) -> Any:
        decide = functools.partial(original, api_id, stage, method, path, *rest, **named)
        call = _current.get()
        if call is None:
            return decide()
        _match_resource(call)
        return authorize(call, _gateway.method_authorization_type(api_id, stage, method, path) or "", decide)

    hooks.app._enforce_execute_api = enforce


def _match_resource(call: RestCall) -> None:
    with hooks.scope(call.account, call.region):
        resource, _ = _gateway._match_resource_tree(call.api_id, [part for part in call.path.split("/") if part])
        key = _gateway._resolve_api_key(call.headers.get("x-api-key", ""))
    if resource:
        call.resource_path = resource["path"]
        method = resource["resourceMethods"].get(call.method) or {}
        call.api_key = {"apiKey": key["value"], "apiKeyId": key["id"]} if key and method.get("apiKeyRequired") else {}


def _note_outcome() -> None:
    execute = _gateway._execute_in_scope

    async def execute_in_scope(request: dict[str, Any], *rest: Any) -> Any:
        outcome = await execute(request, *rest)
        call = _current.get()
        if call is not None:
            call.resource_path = request["resource_path"]
            call.error = outcome if isinstance(outcome, _gateway._GatewayError) else None
        return outcome

    _gateway._execute_in_scope = execute_in_scope


def _share_one_request_id() -> None:
    # The event, the gateway responses and the answer's header carry the id of the call, as on AWS.
    new_id = _gateway.new_uuid

    def request_id() -> str:
        call = _current.get()
        return call.request_id if call else str(new_id())

    _gateway.new_uuid = request_id


_IAM_IDENTITY_FIELDS = ("accessKey", "accountId", "caller", "user", "userArn", "principalOrgId")


def _complete_identity_in_events() -> None:
    build_event = _gateway._build_lambda_event_v1

    def build_complete_event(*args: Any, **named: Any) -> dict[str, Any]:
        event: dict[str, Any] = build_event(*args, **named)
        call = _current.get()
        if call is not None:
            context = event["requestContext"]
            context["identity"] = dict.fromkeys(_IAM_IDENTITY_FIELDS) | call.api_key | context["identity"]
            context["domainName"] = call.headers.get("host", "")
        return event

    _gateway._build_lambda_event_v1 = build_complete_event


_note_outcome()
_share_one_request_id()
_complete_identity_in_events()


# API Gateway: its own errors


def gateway_error(response_type: str, message: str, *, error_type: str | None = None, status: int | None = None) -> Any:
    """An error of the gateway itself; `status` counts unless the template gives the type a status."""
    error = _gateway._GatewayError(response_type, message, error_type)
    error.status = status
    return error


def refuse(call: RestCall, error: Any) -> hooks.Answer:
    """The answer that the stage's gateway responses make of an error."""
    call.error = error
    request = {
        "api_id": call.api_id,
        "stage_name": call.stage_name,
        "stage": stage_of(call),
        "headers": call.headers,
        "query_params": call.query,
        "path_params": {},
        "resource_path": call.resource_path,
        "request_id": call.request_id,
    }
    with hooks.scope(call.account, call.region):
        answer: hooks.Answer = _gateway._gateway_error_response(error, request)
    return answer


def name_error_types(names: dict[str, str]) -> None:
    """Send these x-amzn-ErrorType headers with the gateway responses."""
    _gateway._GATEWAY_RESPONSE_ERROR_TYPES.update(names)


def _apply_default_status_codes() -> None:
    # A status on DEFAULT_4XX or DEFAULT_5XX is the status of each type of its family that has no response of its own.
    original = _gateway._gateway_response_for_type

    def response_for_type(customized: dict[str, Any], response_type: str) -> dict[str, Any]:
        response: dict[str, Any] = original(customized, response_type)
        default = customized.get(_gateway._gateway_response_family(response_type)) or {}
        if response_type not in customized and default.get("statusCode"):
            return response | {"statusCode": default["statusCode"]}
        return response

    _gateway._gateway_response_for_type = response_for_type


def _let_errors_bring_a_status() -> None:
    render = _gateway._gateway_error_response

    def render_with_status(error: Any, request: dict[str, Any]) -> hooks.Answer:
        status, headers, body = render(error, request)
        # A mapped header takes the place of the gateway's own, whatever its case.
        headers = {
            name: value for name, value in headers.items() if name == name.lower() or name.lower() not in headers
        }
        deployments = _gateway._deployed_gateway_responses.get(request["api_id"], {})
        customized = deployments.get(request["stage"].get("deploymentId")) or {}
        own_status = getattr(error, "status", None)
        if own_status and not customized.get(error.response_type, {}).get("statusCode"):
            status = own_status
        call = _current.get()
        if call is not None:
            call.error = error
        return status, headers, body

    _gateway._gateway_error_response = render_with_status


_apply_default_status_codes()
_let_errors_bring_a_status()


# API Gateway: functions behind it, account settings, stages

Invoke = Callable[[RestCall, dict[str, Any], Callable[[], Awaitable[Any]]], Awaitable[Any]]


def invoke_functions_with(invoke: Invoke, failure_of: Callable[[dict[str, Any]], str]) -> None:
    """Run proxy integrations through invoke(call, integration, proceed).

    failure_of(result) names why a function's result is no answer, "" when it is one.
    """
    proxy, interpret = _gateway._invoke_lambda_proxy_v1, _gateway._lambda_proxy_response

    async def invoke_proxy(integration: dict[str, Any], *args: Any, **named: Any) -> Any:
        call = _current.get()
        proceed = functools.partial(proxy, integration, *args, **named)
        return await (invoke(call, integration, proceed) if call else proceed())

    def interpret_result(result: dict[str, Any]) -> Any:
        call = _current.get()
        if call is None:
            return interpret(result)
        call.function_failure = failure_of(result)
        if call.function_failure:
            return None, call.function_failure
        call.function_status = int(result["body"].get("statusCode", 200))
        return interpret(result)

    _gateway._invoke_lambda_proxy_v1 = invoke_proxy
    _gateway._lambda_proxy_response = interpret_result


def function_behind(integration: dict[str, Any]) -> str:
    """The ARN of the function that an integration names."""
    return str(_gateway._extract_lambda_ref_from_integration_uri(integration.get("uri", "")))


def function_allows_gateway(function_arn: str, source_arn: str) -> bool:
    """Whether the function's resource policy lets API Gateway invoke it from this source."""
    record, config, _ = _lambda._get_func_record_for_ref(function_arn)
    if not record:
        return True  # a missing function has an error of its own
    context = _evaluator.EvalContext(
        principal_arn="apigateway.amazonaws.com",
        principal_type="Service",
        principal_account=hooks.account_id(),
        action="lambda:InvokeFunction",
        resource_arn=config["FunctionArn"],
        region=hooks.region(),
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": hooks.account_id()},
    )
    policy = _evaluator.evaluate_resource_policy(record["policy"], context, service="apigateway.amazonaws.com")
    return bool(policy.decision == "Allow")


def gateway_log_role() -> str:
    """The role with which API Gateway writes logs in this account and region, "" when none is set."""
    return str((_gateway._account_settings.get("settings") or {}).get("cloudwatchRoleArn") or "")


def set_access_log(api_id: str, stage_name: str, settings: dict[str, str]) -> None:
    _gateway._stages_v1[api_id][stage_name]["accessLogSettings"] = settings


def log_group_exists(name: str) -> bool:
    return name in _logs._log_groups


def write_log(group: str, stream: str, message: str, milliseconds: int) -> None:
    """Append an event to a log group, if the group exists."""
    if not log_group_exists(group):
        return
    empty = {
        "events": [],
        "uploadSequenceToken": "1",
        "creationTime": milliseconds,
        "firstEventTimestamp": None,
        "lastEventTimestamp": None,
        "lastIngestionTime": None,
    }
    target = _logs._log_groups[group]["streams"].setdefault(stream, empty)
    _logs._append_log_events(target, [{"timestamp": milliseconds, "message": message, "ingestionTime": milliseconds}])


# Lambda


def prepare_function_processes(prologue: str) -> None:
    """Run `prologue` first in the process of every Python function."""
    _runtime._PYTHON_WORKER_SCRIPT = prologue + _runtime._PYTHON_WORKER_SCRIPT
    # The stock wait of 50 ms for a first log line would be most of a warm call.
    _runtime.Worker._drain_stderr_bounded.__defaults__ = (0.002, 0.002, 0.25)


def write_function_logs_if(allowed: Callable[[str, str], bool]) -> None:
    """Write a function's logs only where allowed(role ARN, log group) holds."""
    write = _lambda._emit_lambda_logs

    def write_if_allowed(function: dict[str, Any], *rest: Any, **named: Any) -> None:
        config = function.get("config") or function
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{config['FunctionName']}"
        if allowed(config["Role"], group):
            write(function, *rest, **named)

    _lambda._emit_lambda_logs = write_if_allowed


def reserve_concurrency(function_name: str, executions: int | None) -> None:
    _lambda._functions[function_name]["concurrency"] = executions


def stop_functions() -> None:
    """End the processes of all functions."""
    _runtime.reset()


# CloudFormation


def extend_resource_type(
    name: str,
    *,
    check_new: Callable[[dict[str, Any]], None] | None = None,
    check: Callable[[dict[str, Any]], None] | None = None,
    complete: Callable[[str, dict[str, Any]], None] | None = None,
) -> None:
    """Add to a type of the emulator.

    check_new(properties) may refuse a creation, check(properties) an update too; complete(physical id, properties)
    sets what the emulator leaves out.
    """
    handlers = dict(_provisioners._RESOURCE_HANDLERS[name])

    def provision(properties: dict[str, Any], original: Callable[[], Any]) -> Any:
        if check:
            check(properties)
        result = original()
        if complete:
            complete(result[0], properties)
        return result

    def create(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        if check_new:
            check_new(properties)
        return provision(properties, lambda: handlers["create"](logical_id, properties, stack))

    def update(physical_id: str, old: dict[str, Any], new: dict[str, Any], *rest: Any) -> Any:
        return provision(new, lambda: handlers["update"](physical_id, old, new, *rest))

    _provisioners._RESOURCE_HANDLERS[name] = handlers | {"create": create}
    if "update" in handlers:
        _provisioners._RESOURCE_HANDLERS[name]["update"] = update

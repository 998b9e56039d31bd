"""The hooks into the emulator; only the modules here whose name ends in `hooks` touch its internals."""

import contextlib
import importlib
import importlib.metadata
import json
import re
import types
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

MADE_FOR = "1.5.33"

# Every internal name that is used here, by module.
REQUIRED: dict[str, tuple[str, ...]] = {
    "ministack.app": (
        "SERVICE_REGISTRY",
        "SERVICE_HANDLERS",
        "_handle_pre_body_request",
        "_loaded_modules",
        "_resolve_port",
        "detect_service",
        "pin_request_origin",
    ),
    "ministack.core.concurrency": ("run_reentrant", "spawn_background"),
    "ministack.core.iam_actions": (
        "SERVICE_TO_IAM_NAMESPACE",
        "access_denied_response",
        "extract_iam_action",
        "extract_resource_arn",
        "identity_denial_message",
    ),
    "ministack.core.responses": (
        "AccountRegionScopedDict",
        "get_account_id",
        "get_region",
        "get_request_client_ip",
        "request_scope",
    ),
    "ministack.core.router": ("SERVICE_PATTERNS",),
    "ministack.services.cloudformation.provisioners": (
        "_REPLACING_PROPERTIES",
        "_RESOURCE_HANDLERS",
        "_STACK_TAG_PROPERTY",
    ),
    "ministack.services.cloudformation.stacks": ("_runs_on_worker_thread",),
}

Answer = tuple[int, dict[str, str], bytes]
Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Awaitable[Answer]]


class EmulatorMismatchError(Exception):
    """The installed emulator is not the one these hooks were made for."""


def check_emulator(required: dict[str, tuple[str, ...]]) -> None:
    """Raise EmulatorMismatchError unless the installed emulator has every one of these names."""
    installed = importlib.metadata.version("ministack")
    for module, names in required.items():
        for name in names:
            if not hasattr(importlib.import_module(module), name):
                raise EmulatorMismatchError(
                    f"The local cloud was made for ministack {MADE_FOR}, but {module}.{name} is missing in the "
                    f"installed {installed}; install local_cloud/requirements.txt again."
                )
    if installed != MADE_FOR:
        raise EmulatorMismatchError(
            f"The local cloud was made for ministack {MADE_FOR}, but {installed} is installed; "
            "install local_cloud/requirements.txt again."
        )


check_emulator(REQUIRED)

app: Any = importlib.import_module("ministack.app")
_concurrency: Any = importlib.import_module("ministack.core.concurrency")
_iam_actions: Any = importlib.import_module("ministack.core.iam_actions")
_provisioners: Any = importlib.import_module("ministack.services.cloudformation.provisioners")
_responses: Any = importlib.import_module("ministack.core.responses")
_router: Any = importlib.import_module("ministack.core.router")
_stacks: Any = importlib.import_module("ministack.services.cloudformation.stacks")


# The account and region of the current request


def account_id() -> str:
    return str(_responses.get_account_id())


def region() -> str:
    return str(_responses.get_region())


def scope(account: str, region_name: str) -> contextlib.AbstractContextManager[None]:
    """Act for an account and a region in code that runs outside a request."""
    context: contextlib.AbstractContextManager[None] = _responses.request_scope(account, region_name)
    return context


def scoped_store() -> Any:
    """A dict whose content is separate for each account and region."""
    return _responses.AccountRegionScopedDict()


def own_endpoint_url() -> str:
    return f"http://127.0.0.1:{app._resolve_port()}"


# Answers and threads


def json_answer(content: dict[str, Any], status: int = 200, content_type: str = "application/x-amz-json-1.1") -> Answer:
    return status, {"Content-Type": content_type}, json.dumps(content).encode()


def error_answer(
    code: str, message: str, status: int = 400, content_type: str = "application/x-amz-json-1.1"
) -> Answer:
    headers = {"Content-Type": content_type, "x-amzn-errortype": code}
    return status, headers, json.dumps({"__type": code, "message": message}).encode()


async def off_loop(function: Callable[..., Any], *args: Any) -> Any:
    """Run blocking work on a thread of its own, in the request's account and region."""
    return await _concurrency.run_reentrant(function, *args)


def in_background(function: Callable[..., Any], *args: Any, name: str) -> None:
    """Start work on a thread of its own, in the current account and region; what it raises is logged."""
    _concurrency.spawn_background(function, *args, thread_name=name)


# Services that the emulator lacks

Authorize = Callable[[dict[str, str], str, bytes], tuple[str, str]]


@dataclass(frozen=True)
class _Service:
    authorize: Authorize
    path: re.Pattern[str] | None


_services: dict[str, _Service] = {}


def register_service(
    name: str,
    handler: Handler,
    *,
    authorize: Authorize,
    reset: Callable[[], None],
    target_prefix: str = "",
    path: str = "",
) -> None:
    """Serve a new AWS service, found by its X-Amz-Target prefix or by its path.

    authorize(headers, path, body) names the IAM action and the resource's ARN of a request.
    """
    _services[name] = _Service(authorize, re.compile(path) if path else None)
    app._loaded_modules[name] = types.SimpleNamespace(handle_request=handler, reset=reset)
    app.SERVICE_REGISTRY[name] = {"module": name}
    app.SERVICE_HANDLERS[name] = handler
    _router.SERVICE_PATTERNS[name] = {"target_prefixes": [target_prefix] if target_prefix else [], "host_patterns": []}
    _iam_actions.SERVICE_TO_IAM_NAMESPACE[name] = name


def _find_services_by_path() -> None:
    detect = app.detect_service

    def detect_service(method: str, path: str, headers: dict[str, str], query: dict[str, Any]) -> str:
        signed_for = re.search(r"Credential=[^/]+/[^/]+/[^/]+/([^/]+)/", headers.get("authorization", ""))
        if signed_for is None or signed_for[1] == "sagemaker":
            for name, service in _services.items():
                if service.path and service.path.match(path):
                    return name
        return str(detect(method, path, headers, query))

    app.detect_service = detect_service


def _authorize_new_services() -> None:
    action_of, resource_of = _iam_actions.extract_iam_action, _iam_actions.extract_resource_arn

    def extract_iam_action(name: str, method: str, path: str, headers: Any, body: bytes, query: Any) -> Any:
        if name in _services:
            return _services[name].authorize(headers, path, body)[0]
        return action_of(name, method, path, headers, body, query)

    def extract_resource_arn(name: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        if name in _services:
            return _services[name].authorize(headers, path, body)[1]
        resource = resource_of(name, method, path, headers, body, *rest)
        return _log_stream_of(resource, headers, body) if name == "logs" else resource

    _iam_actions.extract_iam_action, _iam_actions.extract_resource_arn = extract_iam_action, extract_resource_arn


def _log_stream_of(log_group: str, headers: dict[str, str], body: bytes) -> str:
    # AWS asks for these on the stream, so that the usual policy for "log-group:<name>:*" covers them.
    if headers.get("x-amz-target", "").rpartition(".")[2] in ("CreateLogGroup", "CreateLogStream", "PutLogEvents"):
        return f"{log_group}:log-stream:{json.loads(body).get('logStreamName', '')}"
    return log_group


def _name_resource_in_denials() -> None:
    deny = _iam_actions.access_denied_response

    def access_denied_response(name: str, action: str, principal: str, *rest: Any, **details: Any) -> Any:
        if name in _services and not details.get("error_code"):
            resource, explicit = details["resource_arn"], details["explicit_deny"]
            details["message"] = _iam_actions.identity_denial_message(action, principal, resource, explicit)
        return deny(name, action, principal, *rest, **details)

    _iam_actions.access_denied_response = access_denied_response


def _treat_loopback_as_tls() -> None:
    # Policies that demand TLS must hold for our plain listener on the loopback, or no bucket could enforce TLS here.
    pin = app.pin_request_origin
    app.pin_request_origin = lambda source_ip, secure: pin(source_ip, True)


_find_services_by_path()
_authorize_new_services()
_name_resource_in_denials()
_treat_loopback_as_tls()


# Views for tests and for the driver, outside AWS

_views: dict[str, Callable[[], Any]] = {}


def register_view(path: str, view: Callable[[], Any]) -> None:
    """Answer GET `path` with the view's value as JSON, to callers on this machine only."""
    _views[path] = view


def _serve_views() -> None:
    handle = app._handle_pre_body_request

    async def handle_pre_body_request(method: str, path: str, *rest: Any) -> Any:
        if method == "GET" and path in _views and _responses.get_request_client_ip() == "127.0.0.1":
            return 200, {"Content-Type": "application/json"}, json.dumps(_views[path]()).encode()
        return await handle(method, path, *rest)

    app._handle_pre_body_request = handle_pre_body_request


_serve_views()


# CloudFormation resource types

Create = Callable[[str, dict[str, Any], str], tuple[str, dict[str, Any]]]
Update = Callable[[str, dict[str, Any], dict[str, Any], str], tuple[str, dict[str, Any]]]
Delete = Callable[[str, dict[str, Any]], None]
_own_types: set[str] = set()


def register_resource_type(
    name: str, *, create: Create, delete: Delete, update: Update | None = None, replaced_by: tuple[str, ...] = ()
) -> None:
    """Provision a type: create(logical id, properties, stack name) -> (physical id, attributes), and so on.

    replaced_by names the properties whose change makes a new resource. The handlers run on a thread of their own.
    """
    handlers: dict[str, Any] = {"create": create, "delete": delete}
    _provisioners._RESOURCE_HANDLERS[name] = handlers | ({"update": update} if update else {})
    _provisioners._REPLACING_PROPERTIES[name] = replaced_by
    _own_types.add(name)


def tag_with_stack(name: str) -> None:
    """Give resources of this type the stack's own tags, as CloudFormation does."""
    _provisioners._STACK_TAG_PROPERTY[name] = ("Tags", "list")


def _run_own_types_on_threads() -> None:
    runs_on_thread = _stacks._runs_on_worker_thread
    _stacks._runs_on_worker_thread = lambda name: name in _own_types or runs_on_thread(name)


_run_own_types_on_threads()

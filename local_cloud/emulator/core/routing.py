"""Routes, authorizes and answers requests to services that MiniStack lacks."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS", "detect_service")
_iam_actions = ministack.internals(
    "ministack.core.iam_actions", "SERVICE_TO_IAM_NAMESPACE", "extract_iam_action", "extract_resource_arn"
)
_router = ministack.internals("ministack.core.router", "SERVICE_PATTERNS")

Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Awaitable[ministack.Answer]]
Authorize = Callable[[dict[str, str], str, bytes], tuple[str, str]]


@dataclass(frozen=True)
class _Service:
    authorize: Authorize
    path: re.Pattern[str] | None


_services: dict[str, _Service] = {}


def register_service(
    name: str, handler: Handler, *, authorize: Authorize, target_prefix: str = "", path: str = ""
) -> None:
    """Serve a new AWS service; its requests are recognized by X-Amz-Target prefix or by path.

    handler(method, path, headers, body, query) answers a request; authorize(headers, path, body) names its IAM action
    and the ARN of its resource.
    """
    _services[name] = _Service(authorize, re.compile(path) if path else None)
    _app.SERVICE_HANDLERS[name] = handler
    _router.SERVICE_PATTERNS[name] = {"target_prefixes": [target_prefix] if target_prefix else [], "host_patterns": []}
    _iam_actions.SERVICE_TO_IAM_NAMESPACE[name] = name


def _find_services_by_path() -> None:
    detect = _app.detect_service

    def detect_service(method: str, path: str, headers: dict[str, str], query: dict[str, Any]) -> str:
        signed_for = re.search(r"Credential=[^/]+/[^/]+/[^/]+/([^/]+)/", headers.get("authorization", ""))
        if signed_for is None or signed_for[1] in ("sagemaker", "monitoring"):
            for name, service in _services.items():
                if service.path and service.path.match(path):
                    return name
        return str(detect(method, path, headers, query))

    _app.detect_service = detect_service


def _authorize_new_services() -> None:
    action_of, resource_of = _iam_actions.extract_iam_action, _iam_actions.extract_resource_arn

    def extract_iam_action(name: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        if name in _services:
            return _services[name].authorize(headers, path, body)[0]
        return action_of(name, method, path, headers, body, *rest)

    def extract_resource_arn(name: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        if name in _services:
            return _services[name].authorize(headers, path, body)[1]
        return resource_of(name, method, path, headers, body, *rest)

    _iam_actions.extract_iam_action, _iam_actions.extract_resource_arn = extract_iam_action, extract_resource_arn


_find_services_by_path()
_authorize_new_services()

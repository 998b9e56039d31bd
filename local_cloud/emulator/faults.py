"""Faults that tests order for the calls of functions: those that no client of AWS can cause."""

import functools
import json
import threading
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.lambda_.functions import function_configuration
from local_cloud.emulator.lambda_.invocations import kill_invocation
from local_cloud.emulator.sagemaker.response_stream import FAULT_HEADER

PATH = "/_slipway/faults"
# Faults of a stream: the connection ends within a character; or, after some tokens, the engine writes an error, dies,
# or ends its stream as if the answer were complete.
STREAM_KINDS = ("cut_in_character", "engine_error", "engine_exit", "engine_end")
KINDS = ("throttle", "error_after", "kill", *STREAM_KINDS)

_app = ministack.internals("ministack.app", "_dispatch_service_request", "_routing_params", "detect_service")
_iam_actions = ministack.internals("ministack.core.iam_actions", "extract_iam_action")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_sts = ministack.internals("ministack.services.sts", "_sessions")

# Codes that botocore treats as throttling, so that it backs off as on AWS.
_THROTTLING = {"dynamodb": (400, "ProvisionedThroughputExceededException"), "s3": (503, "SlowDown")}


@dataclass
class Fault:
    """A fault in the next `count` calls of an operation by functions with `function` in their name.

    tokens: the number of tokens after which an engine fails.
    """

    service: str
    operation: str
    fault: str
    count: int
    function: str = ""
    tokens: int = 0
    injected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.fault not in KINDS:
            raise ValueError(f"fault: {self.fault!r} is not one of {', '.join(KINDS)}.")


_lock = threading.Lock()
_faults: list[Fault] = []


def _order(request: Any) -> dict[str, Any]:
    known = {each.name: each for each in fields(Fault) if each.init}
    required = {name for name, each in known.items() if each.default is MISSING}
    if not isinstance(request, dict) or not required <= set(request) <= set(known):
        raise ValueError(f"A fault is an object with {', '.join(known)}.")
    with _lock:
        _faults.append(Fault(**request))
    return _show()


def _show() -> dict[str, Any]:
    with _lock:
        return {"faults": [asdict(fault) for fault in _faults]}


def _clear() -> dict[str, Any]:
    shown = _show()
    with _lock:
        _faults.clear()
    return shown


def _take(service: str, operation: str, function: str) -> Fault | None:
    """The fault that hits this call, None for none; it is counted as injected."""
    with _lock:
        for fault in _faults:
            wanted = (fault.service, fault.operation) == (service, operation) and fault.function in function
            if wanted and fault.injected < fault.count:
                fault.injected += 1
                return fault
    return None


def _calling_function(headers: dict[str, str], query: dict[str, Any]) -> str:
    """The name of the calling function, "" for any other caller."""
    session = _sts._sessions.get(_router.extract_access_key_id(headers, query), {})
    name = str(session.get("Arn", "")).rpartition("/")[2]  # the session of a function is named after it
    return name if name and function_configuration(name) else ""


async def _dispatch(dispatch: Any, method: str, path: str, headers: Any, body: bytes, query: Any, *rest: Any) -> Any:
    proceed = functools.partial(dispatch, method, path, headers, body, query, *rest)
    function = _calling_function(headers, query) if _faults else ""
    streams = path.endswith("/invocations-response-stream")  # faults of streams hit every caller
    if not (function or (_faults and streams)):
        return await proceed()
    parameters = _app._routing_params(method, path, headers, body, query)
    service = _app.detect_service(method, path, headers, parameters)
    action = str(_iam_actions.extract_iam_action(service, method, path, headers, body, parameters))
    fault = _take(service, action.rpartition(":")[2], function)
    kind = fault.fault if fault else ""
    if fault and kind in STREAM_KINDS:
        headers[FAULT_HEADER] = f"{kind} {fault.tokens}"
    if kind == "throttle":
        return _error(service, *_THROTTLING.get(service, (400, "ThrottlingException")))
    answer = await proceed()
    if kind == "kill":
        kill_invocation(headers.get("x-amzn-trace-id", ""))
    return _error(service, 500, "InternalError") if kind == "error_after" else answer


def _error(service: str, status: int, code: str) -> ministack.Answer:
    if service == "s3":
        body = f"<Error><Code>{code}</Code><Message>Ordered by a test.</Message></Error>"
        return status, {"Content-Type": "application/xml"}, body.encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-errortype": code}
    return status, headers, json.dumps({"__type": code, "message": "Ordered by a test."}).encode()


def install() -> None:
    _app._dispatch_service_request = functools.partial(_dispatch, _app._dispatch_service_request)
    ministack.register_command("POST", PATH, _order)
    ministack.register_view(PATH, _show)
    ministack.register_command("DELETE", PATH, lambda _: _clear())

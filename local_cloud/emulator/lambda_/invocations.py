"""The invocations that run, by trace id: their number, and a fault that kills the process of one."""

import secrets
import time
from typing import Any

from local_cloud.emulator import ministack

_lambda = ministack.internals("ministack.services.lambda_svc", "_xray_trace_id_for_invocation")
_runtime = ministack.internals("ministack.core.lambda_runtime", "Worker.invoke")

_workers: dict[str, Any] = {}


def kill_invocation(trace_id: str) -> None:
    """Kill the process that runs the invocation with this trace id, as a crash would."""
    worker = _workers.get(trace_id)
    if worker and (process := worker._proc):
        process.kill()


def _new_trace_id() -> str:
    root = f"1-{int(time.time()):08x}-{secrets.token_hex(12)}"
    return f"Root={root};Parent={secrets.token_hex(8)};Sampled=0"


def install() -> None:
    ministack.register_view("/_slipway/invocations", lambda: {"running": len(_workers)})
    # As on AWS every invocation has a trace id, and the SDK sends it along with each call that the function makes.
    given = _lambda._xray_trace_id_for_invocation
    _lambda._xray_trace_id_for_invocation = lambda *args: given(*args) or _new_trace_id()
    invoke = _runtime.Worker.invoke

    def invoke_known(worker: Any, *args: Any, **named: Any) -> dict[str, Any]:
        _workers[named["trace_id"]] = worker
        try:
            result: dict[str, Any] = invoke(worker, *args, **named)
            return result
        finally:
            del _workers[named["trace_id"]]

    _runtime.Worker.invoke = invoke_known

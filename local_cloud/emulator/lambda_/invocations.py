"""Tracks running invocations by trace id, so that tests can count and kill them, and lets each finish."""

import threading
from contextvars import ContextVar
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.lambda_.streaming import StreamingWorker
from local_cloud.emulator.xray.daemon import is_traced
from local_cloud.emulator.xray.requests import Trace, record_invocation

_lambda = ministack.internals(
    "ministack.services.lambda_svc", "_functions", "_xray_trace_id_for_invocation", "invalidate_worker"
)
_runtime = ministack.internals(
    "ministack.core.lambda_runtime", "_PYTHON_WORKER_SCRIPT", "Worker.invoke", "kill_workers"
)

_RAISED = '{"status": "error", "error": str(e), "trace": traceback.format_exc()}'

_workers: dict[str, Any] = {}
_last_in_service: set[Any] = set()  # busy workers of changed functions, until their invocation ends
_thread = threading.local()
# The trace of the request to an API whose function is invoked; None = the function begins one.
caller_trace: ContextVar[Trace | None] = ContextVar("caller_trace", default=None)


def kill_invocation(trace_id: str) -> None:
    """Kill the process that runs the invocation with this trace id, as a crash would."""
    worker = _workers.get(trace_id)
    if worker and (process := worker._proc):
        process.kill()


def _trace_of(config: dict[str, Any], *_: Any) -> str:
    """The trace of an invocation. Every one needs it, as on AWS: the SDK sends it with each call of the function."""
    caller = caller_trace.get()
    trace = Trace(caller.root, caller.sampled) if caller else Trace(sampled=is_traced(config))
    _thread.trace = trace, caller.segment if caller else "", clock.now()
    return trace.header


def _set_tracing(name: str, properties: dict[str, Any]) -> None:
    _lambda._functions[name]["config"]["TracingConfig"] = properties.get("TracingConfig") or {"Mode": "PassThrough"}


def _let_invocations_end() -> None:
    """When a function changes, let a busy process answer before it is replaced, as AWS does."""
    kill, invalidate = _runtime.kill_workers, _lambda.invalidate_worker

    def kill_idle(workers: Any) -> None:
        # After a failure MiniStack replaces the worker of this thread, which is still marked as in use.
        own = getattr(_thread, "failing", None)
        busy = {each for each in workers if each.in_use and each is not own and getattr(_thread, "changes", False)}
        _last_in_service.update(busy)
        kill([each for each in workers if each not in busy])

    def invalidate_idle(*args: Any, **named: Any) -> None:
        _thread.changes = True
        try:
            invalidate(*args, **named)
        finally:
            _thread.changes = False

    _runtime.kill_workers, _lambda.invalidate_worker = kill_idle, invalidate_idle


def _keep_processes_after_exceptions() -> None:
    """Let a process live on after its handler has raised an exception, as AWS does. MiniStack would end it."""
    script = _runtime._PYTHON_WORKER_SCRIPT
    assert script.count(_RAISED) == 1
    answered = _RAISED.replace('"status": "error"', '"status": "ok", "raised": True')
    _runtime._PYTHON_WORKER_SCRIPT = script.replace(_RAISED, answered)


def install() -> None:
    _let_invocations_end()
    _keep_processes_after_exceptions()
    ministack.register_view("/_slipway/invocations", lambda: {"running": len(_workers)})
    _lambda._xray_trace_id_for_invocation = _trace_of
    extend_resource_type("AWS::Lambda::Function", complete=_set_tracing)
    _track_invocations_of(_runtime.Worker)
    _track_invocations_of(StreamingWorker)


def _track_invocations_of(kind: Any) -> None:
    invoke = kind.invoke

    def invoke_known(worker: Any, *args: Any, **named: Any) -> dict[str, Any]:
        _workers[named["trace_id"]] = _thread.failing = worker
        traced, failed = _thread.trace, True
        try:
            result: dict[str, Any] = invoke(worker, *args, **named)
            _thread.failing = None
            failed = bool(result.get("raised")) or result.get("status") == "error"
            return result | {"status": "error"} if result.get("raised") else result
        finally:
            record_invocation(worker.config, *traced, failed=failed)
            del _workers[named["trace_id"]]
            if worker in _last_in_service:
                _last_in_service.remove(worker)
                _runtime.kill_workers([worker])

    kind.invoke = invoke_known

"""The hooks into single invocations of a function: they are followed by their trace id, counted and killed."""

import functools
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks
from local_cloud.emulator.lambda_hooks import function_configuration

_lambda = hooks.internals(
    "ministack.services.lambda_svc",
    "_emit_lambda_metrics",
    "_execute_function_dispatch",
    "_invoke_depth",
    "_throttle_response",
    "_xray_trace_id_for_invocation",
)
_runtime = hooks.internals("ministack.core.lambda_runtime", "Worker.invoke", "ensure_spawned")

Result = dict[str, Any]
_runs: dict[str, Any] = {}
_this_thread = threading.local()


_running: Counter[str] = Counter()


def function_is_running(function_arn: str) -> bool:
    config = function_configuration(function_arn) if ":lambda:" in function_arn else None
    return config is not None and _running[config["FunctionArn"]] > 0


def _count_running() -> None:
    dispatch, lock = _lambda._execute_function_dispatch, threading.Lock()

    def execute(function: Any, config: dict[str, Any], *rest: Any) -> Result:
        with lock:
            _running[config["FunctionArn"]] += 1
        try:
            result: Result = dispatch(function, config, *rest)
            return result
        finally:
            with lock:
                _running[config["FunctionArn"]] -= 1

    _lambda._execute_function_dispatch = execute


_count_running()


def run_functions_with(run: Callable[[str, Callable[[], Result]], Result]) -> None:
    """Run each invocation through run(function's name, proceed), on the thread that proceed() uses."""
    dispatch = _lambda._execute_function_dispatch

    def execute(function: Any, config: dict[str, Any], *rest: Any) -> Result:
        return run(config["FunctionName"], functools.partial(dispatch, function, config, *rest))

    _lambda._execute_function_dispatch = execute


def leave_metrics_to_others() -> None:
    """The emulator puts metrics for some invocations only."""
    _lambda._emit_lambda_metrics = lambda *_, **__: None


def throttled() -> Result:
    """The result of an invocation beyond the account's concurrency."""
    result: Result = _lambda._throttle_response("ConcurrentInvocationLimitExceeded", "Rate Exceeded.")
    return result


def kill_next_run_after(seconds: float) -> None:
    """Kill the process of the invocation that starts next on this thread, so long after its start."""
    _this_thread.seconds = seconds


def kill_run(trace_id: str) -> None:
    """Kill the process that runs the invocation with this trace id, as a crash would."""
    if worker := _runs.get(trace_id):
        _kill(worker)


def _kill(worker: Any) -> None:
    if process := worker._proc:
        process.kill()


def _kill_after(worker: Any, seconds: float, ended: threading.Event) -> None:
    ended.wait(seconds)
    while not ended.is_set():  # the emulator starts another process when it finds the first one dead
        _kill(worker)
        ended.wait(0.01)


def _follow_runs() -> None:
    # As on AWS every invocation has a trace id, and the SDK sends it along with each call that the function makes.
    given = _lambda._xray_trace_id_for_invocation
    _lambda._xray_trace_id_for_invocation = lambda *args: given(*args) or _new_trace_id()
    invoke = _runtime.Worker.invoke

    def invoke_followed(worker: Any, *args: Any, **named: Any) -> Result:
        seconds, _this_thread.seconds = getattr(_this_thread, "seconds", None), None
        ended = threading.Event()
        if seconds is not None:
            _runtime.ensure_spawned(worker)  # the time counts from the start of the handler, not of the process
            threading.Thread(target=_kill_after, args=(worker, seconds, ended), daemon=True).start()
        _runs[named["trace_id"]] = worker
        try:
            result: Result = invoke(worker, *args, **named)
            return result
        finally:
            del _runs[named["trace_id"]]
            ended.set()

    _runtime.Worker.invoke = invoke_followed


def _new_trace_id() -> str:
    root = f"1-{int(time.time()):08x}-{secrets.token_hex(12)}"
    return f"Root={root};Parent={secrets.token_hex(8)};Sampled=0"


_follow_runs()


def continue_chain(length: int) -> None:
    """The next invocation on this thread is the so-many-th that one request has led to."""
    _lambda._invoke_depth.set(length)

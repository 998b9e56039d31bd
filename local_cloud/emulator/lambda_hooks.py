"""The hooks in the emulator's Lambda."""

import functools
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

_evaluator = hooks.internals("ministack.core.iam_evaluator", "EvalContext", "evaluate_resource_policy")
_lambda = hooks.internals(
    "ministack.services.lambda_svc",
    "_LAMBDA_ASYNC_RETRY_BASE_SECONDS",
    "_LAMBDA_ASYNC_RETRY_MAX_SECONDS",
    "_emit_lambda_logs",
    "_execute_function_dispatch",
    "_execution_record_for_config",
    "_functions",
    "_get_func_record_for_ref",
    "_invoke_depth",
    "_throttle_response",
    "_xray_trace_id_for_invocation",
    "invoke_async_with_retry",
)
_runtime = hooks.internals(
    "ministack.core.lambda_runtime",
    "_PYTHON_WORKER_SCRIPT",
    "Worker._drain_stderr_bounded.__defaults__",
    "Worker.invoke",
    "ensure_spawned",
    "reset",
)


def function_configuration(function: str) -> dict[str, Any] | None:
    """What is known of a function by its name or ARN."""
    config: dict[str, Any] | None = _lambda._get_func_record_for_ref(function)[1]
    return config


def function_allows(service: str, function_arn: str, source_arn: str) -> bool:
    """Whether the function's resource policy lets a service, say "events.amazonaws.com", invoke it for this source."""
    record, config, _ = _lambda._get_func_record_for_ref(function_arn)
    if not record:
        return True  # a missing function has an error of its own
    context = _evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account=hooks.account_id(),
        action="lambda:InvokeFunction",
        resource_arn=config["FunctionArn"],
        region=hooks.region(),
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": hooks.account_id()},
    )
    policy = _evaluator.evaluate_resource_policy(record["policy"], context, service=service)
    return bool(policy.decision == "Allow")


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


def allow_recursion(function_name: str, allowed: bool) -> None:
    _lambda._functions[function_name]["recursive_loop"] = "Allow" if allowed else "Terminate"


def recursion_is_allowed(function_name: str) -> bool:
    return (_lambda._functions.get(function_name) or {}).get("recursive_loop") == "Allow"


def continue_chain(length: int) -> None:
    """The next invocation on this thread is the so-many-th that one request has led to."""
    _lambda._invoke_depth.set(length)


def invoke_asynchronously(function_arn: str, event: Any) -> None:
    """Invoke as a service does that does not wait: a failure is tried again, as the function's settings say."""
    record, config, _ = _lambda._get_func_record_for_ref(function_arn)
    if record and config:
        _lambda.invoke_async_with_retry(_lambda._execution_record_for_config(record, config), event)


def retry_asynchronous_calls_after(seconds: float) -> None:
    """Wait so long before the first retry of an asynchronous call, and twice that before the second."""
    _lambda._LAMBDA_ASYNC_RETRY_BASE_SECONDS = seconds
    _lambda._LAMBDA_ASYNC_RETRY_MAX_SECONDS = 2 * seconds


Result = dict[str, Any]
_runs: dict[str, Any] = {}
_this_thread = threading.local()


def run_functions_with(run: Callable[[str, Callable[[], Result]], Result]) -> None:
    """Run each invocation through run(function's name, proceed), on the thread that proceed() uses."""
    dispatch = _lambda._execute_function_dispatch

    def execute(function: Any, config: dict[str, Any], *rest: Any) -> Result:
        return run(config["FunctionName"], functools.partial(dispatch, function, config, *rest))

    _lambda._execute_function_dispatch = execute


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


def stop_functions() -> None:
    """End the processes of all functions."""
    _runtime.reset()

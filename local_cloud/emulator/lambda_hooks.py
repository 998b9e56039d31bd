"""The hooks in the emulator's Lambda."""

from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

_evaluator = hooks.internals("ministack.core.iam_evaluator", "EvalContext", "evaluate_resource_policy")
_lambda = hooks.internals(
    "ministack.services.lambda_svc",
    "_LAMBDA_ASYNC_RETRY_BASE_SECONDS",
    "_LAMBDA_ASYNC_RETRY_MAX_SECONDS",
    "_emit_lambda_logs",
    "_execution_record_for_config",
    "_functions",
    "_get_func_record_for_ref",
    "invoke_async_with_retry",
)
_runtime = hooks.internals(
    "ministack.core.lambda_runtime",
    "_PYTHON_WORKER_SCRIPT",
    "Worker._drain_stderr_bounded.__defaults__",
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


def read_logs_with(read: Callable[[str], None]) -> None:
    """Hand what a function has printed to read(text), once it is written to the function's log."""
    write = _lambda._emit_lambda_logs

    def write_and_read(function: Any, request_id: str, text: str, *rest: Any, **named: Any) -> None:
        write(function, request_id, text, *rest, **named)
        read(text)

    _lambda._emit_lambda_logs = write_and_read


def reserve_concurrency(function_name: str, executions: int | None) -> None:
    _lambda._functions[function_name]["concurrency"] = executions


def allow_recursion(function_name: str, allowed: bool) -> None:
    _lambda._functions[function_name]["recursive_loop"] = "Allow" if allowed else "Terminate"


def recursion_is_allowed(function_name: str) -> bool:
    return (_lambda._functions.get(function_name) or {}).get("recursive_loop") == "Allow"


def invoke_asynchronously(function_arn: str, event: Any) -> None:
    """Invoke as a service does that does not wait: a failure is tried again, as the function's settings say."""
    record, config, _ = _lambda._get_func_record_for_ref(function_arn)
    if record and config:
        _lambda.invoke_async_with_retry(_lambda._execution_record_for_config(record, config), event)


def retry_asynchronous_calls_after(seconds: float) -> None:
    """Wait so long before the first retry of an asynchronous call, and twice that before the second."""
    _lambda._LAMBDA_ASYNC_RETRY_BASE_SECONDS = seconds
    _lambda._LAMBDA_ASYNC_RETRY_MAX_SECONDS = 2 * seconds


def stop_functions() -> None:
    """End the processes of all functions."""
    _runtime.reset()

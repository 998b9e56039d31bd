"""The hooks in the emulator's Lambda."""

from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks

_evaluator = hooks.internals("ministack.core.iam_evaluator", "EvalContext", "evaluate_resource_policy")
_lambda = hooks.internals(
    "ministack.services.lambda_svc", "_emit_lambda_logs", "_functions", "_get_func_record_for_ref"
)
_runtime = hooks.internals(
    "ministack.core.lambda_runtime", "_PYTHON_WORKER_SCRIPT", "Worker._drain_stderr_bounded.__defaults__", "reset"
)


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

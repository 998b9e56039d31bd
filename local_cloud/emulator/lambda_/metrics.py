"""Lambda's own metrics of each invocation."""

import time
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import cloudwatch

_lambda = ministack.internals("ministack.services.lambda_svc", "_emit_lambda_metrics", "_execute_function_dispatch")


def _put_for_each_invocation() -> None:
    dispatch = _lambda._execute_function_dispatch

    def execute(function: Any, config: dict[str, Any], *rest: Any) -> dict[str, Any]:
        started = time.monotonic()
        result: dict[str, Any] = dispatch(function, config, *rest)
        values = _values_of(result, time.monotonic() - started)
        cloudwatch.record_metrics("AWS/Lambda", {"FunctionName": config["FunctionName"]}, values)
        return result

    _lambda._execute_function_dispatch = execute
    # MiniStack puts metrics for some invocations only, and reports a call that found no room to run here alone.
    _lambda._emit_lambda_metrics = _put_refused


def _put_refused(function: str, *, duration_ms: float, error: bool, throttle: bool) -> None:
    if throttle and not duration_ms:
        cloudwatch.record_metrics("AWS/Lambda", {"FunctionName": function}, {"Throttles": (1.0, "Count")})


def _values_of(result: dict[str, Any], seconds: float) -> dict[str, tuple[float, str]]:
    if result.get("throttle"):
        return {"Throttles": (1.0, "Count")}
    return {
        "Throttles": (0.0, "Count"),
        "Invocations": (1.0, "Count"),
        "Errors": (float(bool(result.get("error"))), "Count"),
        "Duration": (seconds * 1000, "Milliseconds"),
    }


def install() -> None:
    _put_for_each_invocation()

"""Metrics of functions: Lambda's own for each invocation, and those in the embedded metric format in log lines."""

import contextlib
import json
import time
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import cloudwatch

_lambda = ministack.internals(
    "ministack.services.lambda_svc", "_emit_lambda_logs", "_emit_lambda_metrics", "_execute_function_dispatch"
)


def _put_for_each_invocation() -> None:
    dispatch = _lambda._execute_function_dispatch

    def execute(function: Any, config: dict[str, Any], *rest: Any) -> dict[str, Any]:
        started = time.monotonic()
        result: dict[str, Any] = dispatch(function, config, *rest)
        values = _values_of(result, time.monotonic() - started)
        cloudwatch.record_metrics("AWS/Lambda", {"FunctionName": config["FunctionName"]}, values)
        return result

    _lambda._execute_function_dispatch = execute
    # MiniStack puts metrics for some invocations only.
    _lambda._emit_lambda_metrics = lambda *_, **__: None


def _values_of(result: dict[str, Any], seconds: float) -> dict[str, tuple[float, str]]:
    if result.get("throttle"):
        return {"Throttles": (1.0, "Count")}
    return {
        "Throttles": (0.0, "Count"),
        "Invocations": (1.0, "Count"),
        "Errors": (float(bool(result.get("error"))), "Count"),
        "Duration": (seconds * 1000, "Milliseconds"),
    }


def _put_those_in_logs() -> None:
    write = _lambda._emit_lambda_logs

    def write_and_read(function: Any, request_id: str, text: str, *rest: Any, **named: Any) -> None:
        write(function, request_id, text, *rest, **named)
        put_embedded(text)

    _lambda._emit_lambda_logs = write_and_read


def put_embedded(text: str) -> None:
    """Put the metrics that log lines hold in CloudWatch's embedded metric format."""
    for line in text.splitlines():
        if '"_aws"' in line:
            # A malformed line makes no metric and no error.
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                _put(json.loads(line))


def _put(entry: dict[str, Any]) -> None:
    for directive in entry["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: str(entry[name]) for name in names}
            for metric in directive["Metrics"]:
                value = entry[metric["Name"]]
                for each in value if isinstance(value, list) else [value]:
                    data = {metric["Name"]: (float(each), metric.get("Unit", "None"))}
                    cloudwatch.record_metrics(directive["Namespace"], dimensions, data)


def install() -> None:
    _put_for_each_invocation()
    _put_those_in_logs()

"""The metrics of functions: those that Lambda puts for each run, and those that a function writes into its log."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import cloudwatch_hooks, lambda_hooks, lambda_run_hooks
from local_cloud.emulator.lambda_run_hooks import Result


def _run(function: str, proceed: Callable[[], Result]) -> Result:
    started = time.monotonic()
    result = proceed()
    throttled = bool(result.get("throttle"))
    values = {"Throttles": (float(throttled), "Count")}
    if not throttled:
        values["Invocations"] = (1.0, "Count")
        values["Errors"] = (float(bool(result.get("error"))), "Count")
        values["Duration"] = ((time.monotonic() - started) * 1000, "Milliseconds")
    cloudwatch_hooks.record_metrics("AWS/Lambda", {"FunctionName": function}, values)
    return result


def put_embedded(text: str) -> None:
    """Put the metrics that lines of a log hold in CloudWatch's embedded metric format."""
    for line in text.splitlines():
        if '"_aws"' in line:
            # A line that is not what it looks like makes no metric, and no error either.
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
                    cloudwatch_hooks.record_metrics(directive["Namespace"], dimensions, data)


def install() -> None:
    lambda_run_hooks.leave_metrics_to_others()
    lambda_run_hooks.run_functions_with(_run)
    lambda_hooks.read_logs_with(put_embedded)

"""Metrics in the embedded metric format, which CloudWatch reads from the events of every log group."""

import contextlib
import json
from typing import Any

from local_cloud.emulator.services import cloudwatch


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

"""Metrics of the functions, as log lines in CloudWatch's embedded metric format."""

import json
from collections.abc import Mapping

NAMESPACE = "Slipway"
_UNITS = {"JobSeconds": "Seconds"}


def emit(deployment: str, now: float, values: Mapping[str, float]) -> None:
    """One value for each name, under the dimension `Deployment`."""
    metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [["Deployment"]], "Metrics": metrics}
    envelope = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}, "Deployment": deployment}
    print(json.dumps(envelope | dict(values)))

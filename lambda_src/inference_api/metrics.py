"""The application's own metrics, in CloudWatch's embedded metric format: a line in the log, no call."""

import json
from collections.abc import Mapping

NAMESPACE = "Slipway"
_UNITS = {"JobSeconds": "Seconds"}


def emit(deployment: str, now: float, values: Mapping[str, float]) -> None:
    """One datum for each name, under the dimension `Deployment`."""
    metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [["Deployment"]], "Metrics": metrics}
    envelope = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}, "Deployment": deployment}
    print(json.dumps(envelope | dict(values)))

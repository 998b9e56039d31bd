"""Metrics of the functions, as log lines in CloudWatch's embedded metric format."""

from collections.abc import Mapping

from inference_api.log import log

NAMESPACE = "Slipway"
_UNITS = {"JobSeconds": "Seconds"}


def emit(deployment: str, now: float, values: Mapping[str, float]) -> None:
    """One value for each name, under the dimension `Deployment`."""
    metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [["Deployment"]], "Metrics": metrics}
    envelope = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}, "Deployment": deployment}
    log(envelope | dict(values))

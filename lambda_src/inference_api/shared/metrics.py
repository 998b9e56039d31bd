"""Metrics of the functions, as log lines in CloudWatch's embedded metric format."""

from collections.abc import Mapping

from inference_api.shared.log import log

NAMESPACE = "Slipway"
_UNITS = {"JobSeconds": "Seconds", "WakeSeconds": "Seconds"}


def emit(deployment: str, now: float, values: Mapping[str, float]) -> None:
    """Emit one value for each name, under the dimension `Deployment`. now: seconds since the epoch."""
    _print({"Deployment": deployment}, now, values)


def emit_for_configuration(configuration: str, now: float, values: Mapping[str, float]) -> None:
    """Emit metrics by EndpointConfig, so that the alarms of an update see its new instances only."""
    _print({"EndpointConfigName": configuration}, now, values)


def _print(dimensions: Mapping[str, str], now: float, values: Mapping[str, float]) -> None:
    metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(dimensions)], "Metrics": metrics}
    envelope = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}}
    log(envelope | dict(dimensions) | dict(values))

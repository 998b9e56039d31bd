"""Metrics of the functions, as log lines in CloudWatch's embedded metric format."""

from collections.abc import Mapping

from inference_api.shared.log import log
from inference_api.shared.settings import dashboard_of

NAMESPACE = "Slipway"
_UNITS = {
    "JobSeconds": "Seconds",
    "WakeSeconds": "Seconds",
    "FirstTokenSeconds": "Seconds",
    "TokensPerSecond": "Count/Second",
}


def emit(deployment: str, now: float, values: Mapping[str, float]) -> None:
    """Emit one value for each name, under the dimension `Deployment`. now: seconds since the epoch."""
    _print({"Deployment": deployment}, now, values)


def emit_for_dashboard(now: float, values: Mapping[str, float], **told: str | None) -> None:
    """Emit figures that only a dashboard shows; without one nothing, because each metric costs money.

    told: fields for queries of the log, such as the hash of the caller; they are no dimensions.
    """
    if values and (deployment := dashboard_of()):
        _print({"Deployment": deployment}, now, values, {name: value for name, value in told.items() if value})


def emit_for_configuration(configuration: str, now: float, values: Mapping[str, float]) -> None:
    """Emit metrics by EndpointConfig, so that the alarms of an update see its new instances only."""
    _print({"EndpointConfigName": configuration}, now, values)


def _print(
    dimensions: Mapping[str, str], now: float, values: Mapping[str, float], told: Mapping[str, str] | None = None
) -> None:
    metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(dimensions)], "Metrics": metrics}
    envelope = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}}
    log(envelope | dict(dimensions) | dict(values) | dict(told or {}))

"""A target tracking policy: what the two alarms that AWS makes of it say, and the capacity it wants then."""

import math
from typing import Any, NamedTuple

_HIGH_RESOLUTION = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
_DEFAULT_COOLDOWN_IN_SECONDS = 300
# Of AWS's alarms: out after 3 periods above the target, in after 15 minutes below nine tenths of it.
_PERIODS_TO_SCALE_OUT = 3
_SECONDS_TO_SCALE_IN = 900
_LOW = 0.9
# An alarm looks a little further back for data that is missing, and on a busy machine some always is.
_SPARE_PERIODS, _SPARE_SHARE = 3, 6


class Reading(NamedTuple):
    """The metric's newest value, and which of the two alarms is on."""

    value: float
    is_high: bool
    is_low: bool


class TargetTracking:
    """A TargetTrackingScalingPolicyConfiguration; raises ValueError for one that the local cloud can't follow."""

    def __init__(self, configuration: dict[str, Any], resource_id: str) -> None:
        self._target = float(configuration["TargetValue"])
        self.scale_out_cooldown = float(configuration.get("ScaleOutCooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        self.scale_in_cooldown = float(configuration.get("ScaleInCooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        self.scales_in = str(configuration.get("DisableScaleIn", False)).lower() != "true"
        self.period, self.metric = _period_and_metric(configuration, resource_id)
        self._periods_to_scale_in = _SECONDS_TO_SCALE_IN // self.period

    @property
    def periods(self) -> int:
        """Of how many periods read() needs to know the metric."""
        return self._periods_to_scale_in + max(_SPARE_PERIODS, self._periods_to_scale_in // _SPARE_SHARE)

    def read(self, values: list[float | None]) -> Reading | None:
        """What one value for each period says, the newest first, None where there was no data.

        None when nothing can be decided: missing data never scales anything in.
        """
        newest = _known(values[: _PERIODS_TO_SCALE_OUT + _SPARE_PERIODS])[:_PERIODS_TO_SCALE_OUT]
        known = _known(values)[: self._periods_to_scale_in]
        if not newest:
            return None
        is_high = len(newest) == _PERIODS_TO_SCALE_OUT and all(value > self._target for value in newest)
        is_low = len(known) == self._periods_to_scale_in and all(value < self._target * _LOW for value in known)
        return Reading(newest[0], is_high, is_low)

    def wanted_from(self, capacity: int, value: float) -> int:
        """The capacity at which a metric per instance would be at its target.

        Without instances the metric is the whole load.
        """
        return math.ceil(max(capacity, 1) * value / self._target - 1e-9)


def _known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _period_and_metric(configuration: dict[str, Any], resource_id: str) -> tuple[int, dict[str, Any]]:
    custom = configuration.get("CustomizedMetricSpecification")
    predefined = (configuration.get("PredefinedMetricSpecification") or {}).get("PredefinedMetricType")
    if custom and not predefined:
        if "Metrics" in custom:
            raise ValueError("CustomizedMetricSpecification.Metrics: the local cloud knows no metric math.")
        dimensions = [{"Name": each["Name"], "Value": each["Value"]} for each in custom.get("Dimensions") or []]
        return 60, {name: custom[name] for name in ("MetricName", "Namespace", "Statistic")} | {
            "Dimensions": dimensions
        }
    if predefined != _HIGH_RESOLUTION:
        raise ValueError(f"The local cloud follows a customized metric or {_HIGH_RESOLUTION}, not {predefined}.")
    _, endpoint, _, variant = resource_id.split("/")
    return 10, {
        "Namespace": "AWS/SageMaker",
        "MetricName": "ConcurrentRequestsPerModel",
        "Dimensions": [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
        "Statistic": "Maximum",
    }

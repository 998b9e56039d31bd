"""Scaling policies: from values of a metric to the capacity that a policy asks for."""

import math
from typing import Any, NamedTuple

_OF_INSTANCES = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
_OF_COPIES = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
_DEFAULT_COOLDOWN_IN_SECONDS = 300
# AWS makes two alarms for a target tracking policy: scale out after 3 periods above the target, scale in after
# 15 minutes below nine tenths of it. Where data is missing, they look a little further back.
_PERIODS_TO_SCALE_OUT = 3
_SECONDS_TO_SCALE_IN = 900
_LOW = 0.9
_SPARE_PERIODS = 3


class StepScaling:
    """A StepScalingPolicyConfiguration; raises ValueError for settings that the local cloud does not support."""

    def __init__(self, configuration: dict[str, Any]) -> None:
        kind = configuration.get("AdjustmentType")
        if kind not in ("ChangeInCapacity", "ExactCapacity"):
            raise ValueError(f"AdjustmentType: the local cloud knows ChangeInCapacity and ExactCapacity, not {kind}.")
        self._is_exact = kind == "ExactCapacity"
        self.statistic = configuration.get("MetricAggregationType", "Average")
        self.cooldown = float(configuration.get("Cooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        self._steps = [_step(step) for step in configuration.get("StepAdjustments") or []]
        if not self._steps:
            raise ValueError("At least one step adjustment must be specified.")

    def wanted_from(self, capacity: int, above_threshold: float) -> int | None:
        """The capacity after the step that applies, None if none does.

        above_threshold: the metric minus the alarm's threshold.
        """
        for lower, upper, change in self._steps:
            # The bound that is nearer to the threshold belongs to the step.
            if lower <= above_threshold < upper if above_threshold >= 0 else lower < above_threshold <= upper:
                return change if self._is_exact else max(0, capacity + change)
        return None


def _step(step: dict[str, Any]) -> tuple[float, float, int]:
    lower = float(step.get("MetricIntervalLowerBound", -math.inf))
    return lower, float(step.get("MetricIntervalUpperBound", math.inf)), int(step["ScalingAdjustment"])


class Reading(NamedTuple):
    """The metric's newest value, and the state of the two alarms."""

    value: float
    is_high: bool
    is_low: bool


class TargetTracking:
    """A TargetTrackingScalingPolicyConfiguration; raises ValueError for settings that the local cloud lacks."""

    def __init__(self, configuration: dict[str, Any], resource_id: str) -> None:
        self._target = float(configuration["TargetValue"])
        self.scale_out_cooldown = float(configuration.get("ScaleOutCooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        self.scale_in_cooldown = float(configuration.get("ScaleInCooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        # The highest value counts if there are several metrics.
        self.period, self.metrics = _period_and_metrics(configuration, resource_id)
        self._periods_to_scale_in = _SECONDS_TO_SCALE_IN // self.period
        # The number of periods that read() needs.
        self.periods = self._periods_to_scale_in + _SPARE_PERIODS

    def read(self, values: list[float | None]) -> Reading | None:
        """The state of the alarms. values: one for each period, newest first, None for a period without data.

        Returns None without recent data. Missing data never scales in.
        """
        newest = _known(values[: _PERIODS_TO_SCALE_OUT + _SPARE_PERIODS])[:_PERIODS_TO_SCALE_OUT]
        known = _known(values)[: self._periods_to_scale_in]
        if not newest:
            return None
        is_high = len(newest) == _PERIODS_TO_SCALE_OUT and all(value > self._target for value in newest)
        is_low = len(known) == self._periods_to_scale_in and all(value < self._target * _LOW for value in known)
        return Reading(newest[0], is_high, is_low)

    def wanted_from(self, capacity: int, value: float) -> int:
        """The capacity that brings the metric per instance to the target; at no instances it is the whole load."""
        return math.ceil(max(capacity, 1) * value / self._target - 1e-9)


def _known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _period_and_metrics(configuration: dict[str, Any], resource_id: str) -> tuple[int, list[dict[str, Any]]]:
    if custom := configuration.get("CustomizedMetricSpecification"):
        if queries := custom.get("Metrics"):
            return 60, _metrics_of(queries)
        return 60, [{name: custom.get(name) for name in ("MetricName", "Namespace", "Dimensions", "Statistic")}]
    predefined = (configuration.get("PredefinedMetricSpecification") or {}).get("PredefinedMetricType")
    kind, name, *rest = resource_id.split("/")
    known = _OF_COPIES if kind == "inference-component" else _OF_INSTANCES
    if predefined != known:
        raise ValueError(f"The local cloud follows a customized metric or {known}, not {predefined}.")
    dimensions = {"InferenceComponentName": name} if predefined == _OF_COPIES else _of_variant(name, rest[-1])
    metric = {
        "Namespace": "AWS/SageMaker",
        "MetricName": "ConcurrentRequestsPerCopy" if predefined == _OF_COPIES else "ConcurrentRequestsPerModel",
        "Dimensions": [{"Name": each, "Value": value} for each, value in dimensions.items()],
        "Statistic": "Maximum",
    }
    return 10, [metric]


def _of_variant(endpoint: str, variant: str) -> dict[str, str]:
    return {"EndpointName": endpoint, "VariantName": variant}


def _metrics_of(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    *metrics, total = queries
    filled = ", ".join(f"FILL({each['Id']}, 0)" for each in metrics)
    known = f"MAX([{filled}])"
    if total.get("Expression") != known or not all("MetricStat" in each for each in metrics):
        raise ValueError(f"The local cloud follows the expression {known} of these metrics, not {total}.")
    return [each["MetricStat"]["Metric"] | {"Statistic": each["MetricStat"]["Stat"]} for each in metrics]

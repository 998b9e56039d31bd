"""A step scaling policy: the capacity it wants when its alarm is on."""

import itertools
import math
from typing import Any

_ADJUSTMENT_TYPES = ("ChangeInCapacity", "ExactCapacity", "PercentChangeInCapacity")
_AGGREGATION_TYPES = ("Average", "Maximum", "Minimum")
_DEFAULT_COOLDOWN_IN_SECONDS = 300


class StepScaling:
    """A StepScalingPolicyConfiguration; raises ValueError for one that Application Auto Scaling refuses."""

    def __init__(self, configuration: dict[str, Any]) -> None:
        self._kind = configuration.get("AdjustmentType")
        self.statistic = configuration.get("MetricAggregationType") or "Average"
        self.cooldown = float(configuration.get("Cooldown", _DEFAULT_COOLDOWN_IN_SECONDS))
        self._least = int(configuration.get("MinAdjustmentMagnitude", 0))
        self._steps = [_step(step) for step in configuration.get("StepAdjustments") or []]
        if self._kind not in _ADJUSTMENT_TYPES:
            raise ValueError(f"AdjustmentType must be one of {', '.join(_ADJUSTMENT_TYPES)}, not {self._kind}")
        if self.statistic not in _AGGREGATION_TYPES:
            raise ValueError(f"MetricAggregationType must be one of {', '.join(_AGGREGATION_TYPES)}")
        if not self._steps or any(lower >= upper for lower, upper, _ in self._steps):
            raise ValueError("At least one step adjustment must be specified, each with a lower bound below its upper")
        ordered = sorted(self._steps)
        if any(before[1] != after[0] for before, after in itertools.pairwise(ordered)):
            raise ValueError("Step adjustment intervals must not overlap and must not have gaps between them")

    def wanted_from(self, capacity: int, above_threshold: float) -> int | None:
        """The capacity after the step that fits, None when none does.

        above_threshold: how far the metric is above the alarm's threshold, negative when it is below.
        """
        adjustment = next((change for *bounds, change in self._steps if _fits(bounds, above_threshold)), None)
        if adjustment is None:
            return None
        if self._kind == "ExactCapacity":
            return adjustment
        if self._kind == "PercentChangeInCapacity":
            adjustment = self._percentage_of(capacity, adjustment)
        return max(0, capacity + adjustment)

    def _percentage_of(self, capacity: int, percent: int) -> int:
        """Rounded towards zero, but at least one instance."""
        change = max(1, self._least, math.floor(capacity * abs(percent) / 100)) if percent else 0
        return int(math.copysign(change, percent))


def _step(step: dict[str, Any]) -> tuple[float, float, int]:
    lower = float(step.get("MetricIntervalLowerBound", -math.inf))
    return lower, float(step.get("MetricIntervalUpperBound", math.inf)), int(step["ScalingAdjustment"])


def _fits(bounds: list[float], above_threshold: float) -> bool:
    lower, upper = bounds
    # The bound that is nearer to the threshold belongs to the step.
    if above_threshold >= 0:
        return lower <= above_threshold < upper
    return lower < above_threshold <= upper

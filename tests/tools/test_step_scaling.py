from typing import Any

import pytest

from local_cloud.emulator.step_scaling import StepScaling

# The example of Application Auto Scaling's documentation: threshold 50, capacity 10.
OUT = [
    {"MetricIntervalLowerBound": 0, "MetricIntervalUpperBound": 10, "ScalingAdjustment": 0},
    {"MetricIntervalLowerBound": 10, "MetricIntervalUpperBound": 20, "ScalingAdjustment": 10},
    {"MetricIntervalLowerBound": 20, "ScalingAdjustment": 30},
]
IN = [
    {"MetricIntervalLowerBound": -10, "MetricIntervalUpperBound": 0, "ScalingAdjustment": 0},
    {"MetricIntervalLowerBound": -20, "MetricIntervalUpperBound": -10, "ScalingAdjustment": -10},
    {"MetricIntervalUpperBound": -20, "ScalingAdjustment": -30},
]
WAKE = [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}]


def steps(kind: str, adjustments: list[dict[str, Any]], **more: Any) -> StepScaling:
    return StepScaling({"AdjustmentType": kind, "StepAdjustments": adjustments} | more)


@pytest.mark.parametrize(
    ("adjustments", "capacity", "metric", "wanted"),
    [
        (OUT, 10, 59.9, 10),
        (OUT, 10, 60, 11),  # the lower bound belongs to the step, the upper one does not
        (OUT, 11, 70, 14),
        (IN, 14, 40.1, 14),
        (IN, 14, 40, 13),  # below the threshold it is the other way round
        (IN, 13, 30, 10),
    ],
)
def test_the_documented_example_comes_out_as_documented(
    adjustments: list[dict[str, Any]], capacity: int, metric: float, wanted: int
) -> None:
    assert steps("PercentChangeInCapacity", adjustments).wanted_from(capacity, metric - 50) == wanted


def test_a_change_is_added_to_the_capacity_and_ends_at_zero() -> None:
    assert steps("ChangeInCapacity", WAKE).wanted_from(0, 0) == 1
    less = [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": -5}]
    assert steps("ChangeInCapacity", less).wanted_from(3, 1) == 0


def test_an_exact_capacity_does_not_depend_on_the_present_one() -> None:
    exact = steps("ExactCapacity", [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 2}])
    assert exact.wanted_from(0, 1) == exact.wanted_from(7, 1) == 2


def test_a_percentage_changes_at_least_one_instance_or_the_least_magnitude() -> None:
    more = [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 25}]
    assert steps("PercentChangeInCapacity", more).wanted_from(2, 0) == 3
    assert steps("PercentChangeInCapacity", more, MinAdjustmentMagnitude=2).wanted_from(4, 0) == 6


def test_a_metric_outside_every_step_changes_nothing() -> None:
    assert steps("ChangeInCapacity", WAKE).wanted_from(1, -0.5) is None


@pytest.mark.parametrize(
    "adjustments",
    [
        [],
        [{"MetricIntervalLowerBound": 1, "MetricIntervalUpperBound": 1, "ScalingAdjustment": 1}],
        [OUT[0], OUT[2]],
        [OUT[0], {"MetricIntervalLowerBound": 5, "ScalingAdjustment": 1}],
    ],
)
def test_steps_that_are_missing_empty_apart_or_overlapping_are_refused(adjustments: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="tep adjustment"):
        steps("ChangeInCapacity", adjustments)

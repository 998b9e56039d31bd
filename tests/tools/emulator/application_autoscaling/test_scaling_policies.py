"""Scaling policies compute the capacity from the values of their metric."""

from typing import Any

import pytest

from local_cloud.emulator.application_autoscaling.policies import StepScaling, TargetTracking

CUSTOM = {
    "TargetValue": 10,
    "CustomizedMetricSpecification": {"MetricName": "Backlog", "Namespace": "AWS/SageMaker", "Statistic": "Average"},
}
RESOURCE = "endpoint/name/variant/AllTraffic"


def tracking(**more: Any) -> TargetTracking:
    return TargetTracking(CUSTOM | more, RESOURCE)


def signals(values: list[float | None]) -> tuple[bool, bool] | None:
    reading = tracking().read(values)
    return (reading.is_high, reading.is_low) if reading else None


def test_three_minutes_above_the_target_ask_for_more() -> None:
    assert signals([11, 11, 11]) == (True, False)
    assert signals([11, 11, 10]) == (False, False)
    assert signals([11, 11]) == (False, False)


def test_fifteen_minutes_below_nine_tenths_ask_for_less() -> None:
    assert signals([8.9] * 15) == (False, True)
    assert signals([*[8.9] * 14, 9.0]) == (False, False)
    assert signals([8.9] * 14) == (False, False)


def test_missing_data_never_asks_for_less() -> None:
    assert signals([None] * 18) is None
    assert signals([0.0] * 14 + [None] * 4) == (False, False)


def test_a_missing_datum_is_replaced_by_an_older_one() -> None:
    assert signals([11, None, 11, 11]) == (True, False)
    assert signals([None, *[0.0] * 15]) == (False, True)


@pytest.mark.parametrize(
    ("capacity", "value", "wanted"),
    [(1, 11, 2), (2, 10, 2), (3, 25, 8), (4, 0, 0), (4, 5, 2), (0, 5, 1), (0, 25, 3)],
)
def test_the_wanted_capacity_brings_the_metric_to_its_target(capacity: int, value: float, wanted: int) -> None:
    assert tracking().wanted_from(capacity, value) == wanted


def test_the_predefined_metric_is_read_every_10_seconds() -> None:
    specification = {"PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"}
    policy = TargetTracking({"TargetValue": 4, "PredefinedMetricSpecification": specification}, RESOURCE)
    (metric,) = policy.metrics
    assert (policy.period, metric["MetricName"]) == (10, "ConcurrentRequestsPerModel")
    assert policy.periods == 90 + 3  # some of these may be missing
    assert {each["Name"]: each["Value"] for each in metric["Dimensions"]} == {
        "EndpointName": "name",
        "VariantName": "AllTraffic",
    }
    busy, idle = policy.read([5.0] * 3), policy.read([0.0] * 90)
    assert busy
    assert busy.is_high
    assert idle
    assert idle.is_low


def test_only_the_metrics_of_our_templates_are_known() -> None:
    specification = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
    with pytest.raises(ValueError, match="SageMakerVariantInvocationsPerInstance"):
        TargetTracking({"TargetValue": 4, "PredefinedMetricSpecification": specification}, RESOURCE)


def steps(*adjustments: dict[str, Any], kind: str = "ChangeInCapacity") -> StepScaling:
    return StepScaling({"AdjustmentType": kind, "StepAdjustments": list(adjustments)})


WAKE = {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
RUSH = {"MetricIntervalLowerBound": 10, "ScalingAdjustment": 5}


@pytest.mark.parametrize(("above_threshold", "wanted"), [(-0.5, None), (0, 3), (9.9, 3), (10, 7), (99, 7)])
def test_a_step_is_chosen_by_the_distance_from_the_threshold(above_threshold: float, wanted: int | None) -> None:
    assert steps(WAKE | {"MetricIntervalUpperBound": 10}, RUSH).wanted_from(2, above_threshold) == wanted


def test_below_the_threshold_the_upper_bound_belongs_to_the_step() -> None:
    policy = steps({"MetricIntervalLowerBound": -10, "MetricIntervalUpperBound": 0, "ScalingAdjustment": -5})
    assert (policy.wanted_from(7, -10), policy.wanted_from(7, -1), policy.wanted_from(3, -1)) == (None, 2, 0)


def test_a_step_policy_that_can_not_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match="At least one step adjustment"):
        steps()
    with pytest.raises(ValueError, match="not PercentChangeInCapacity"):
        steps(WAKE, kind="PercentChangeInCapacity")


@pytest.mark.parametrize("capacity", [0, 1, 3])
def test_an_exact_capacity_is_the_same_from_every_capacity(capacity: int) -> None:
    assert steps(WAKE, kind="ExactCapacity").wanted_from(capacity, 0) == 1


def test_a_component_is_followed_by_its_requests_per_copy() -> None:
    kind = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
    configuration = {"TargetValue": 4, "PredefinedMetricSpecification": {"PredefinedMetricType": kind}}
    (metric,) = TargetTracking(configuration, "inference-component/chat").metrics
    named = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
    assert (metric["MetricName"], named) == ("ConcurrentRequestsPerCopy", {"InferenceComponentName": "chat"})
    with pytest.raises(ValueError, match=kind):  # the metric of components for a variant
        TargetTracking(configuration, RESOURCE)


def test_an_expression_of_several_metrics_is_their_highest_or_refused() -> None:
    queries = [{"Id": each, "MetricStat": {"Metric": {"MetricName": each}, "Stat": "Average"}} for each in ("a", "b")]
    for expression, followed in (("MAX([FILL(a, 0), FILL(b, 0)])", True), ("0.5 * a + 0.5 * b", False)):
        metrics = [*queries, {"Id": "all", "Expression": expression}]
        configuration = {"TargetValue": 4, "CustomizedMetricSpecification": {"Metrics": metrics}}
        if followed:
            assert [each["MetricName"] for each in TargetTracking(configuration, RESOURCE).metrics] == ["a", "b"]
        else:
            with pytest.raises(ValueError, match="follows the expression MAX"):
                TargetTracking(configuration, RESOURCE)

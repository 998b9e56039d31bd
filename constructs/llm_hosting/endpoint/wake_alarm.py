"""What wakes a model at zero: an alarm that runs a scaling policy and tells nobody."""

from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

_Policy = autoscaling.CfnScalingPolicy


def add_wake(
    scope: Construct,
    alarm_id: str,
    target: autoscaling.CfnScalableTarget,
    *,
    metric: cloudwatch.Metric,
    adjustment_type: str,
    cooldown_in_seconds: int,
    description: str,
) -> None:
    """Let a scalable target take the step `adjustment_type` 1 as soon as a metric is 1 or more."""
    policy = _Policy(
        scope,
        "Wake",
        policy_name="Wake",
        policy_type="StepScaling",
        scaling_target_id=target.ref,
        step_scaling_policy_configuration=_Policy.StepScalingPolicyConfigurationProperty(
            adjustment_type=adjustment_type,
            metric_aggregation_type=metric.statistic,
            cooldown=cooldown_in_seconds,
            step_adjustments=[_Policy.StepAdjustmentProperty(metric_interval_lower_bound=0, scaling_adjustment=1)],
        ),
    )
    alarm = cloudwatch.Alarm(
        scope,
        alarm_id,
        metric=metric,
        threshold=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        evaluation_periods=1,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )
    alarm.node.default_child.alarm_actions = [policy.ref]  # the L2 has no action for an L1 scaling policy

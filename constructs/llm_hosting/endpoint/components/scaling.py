"""Automatic scaling of an inference component's copies, to zero and back, and by the hours in which it stays awake."""

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ...alarm_group import described
from ...deployment.settings.hosting import AwakeHours
from ...resolution import Resolution
from ..wake_alarm import add_wake

Policy = autoscaling.CfnScalingPolicy
Target = autoscaling.CfnScalableTarget

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WAKE_COOLDOWN_IN_SECONDS = 60


class ComponentScaling(Construct):
    """Scaling by the requests in flight on one copy. SageMaker adds and releases the instances that copies need."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        component_name: str,
        resolution: Resolution,
        runbook_url: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        hosting = resolution.deployment.hosting
        hours = hosting.awake_hours
        self._target = Target(
            self,
            "Target",
            service_namespace="sagemaker",
            resource_id=f"inference-component/{component_name}",
            scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
            min_capacity=0 if hosting.sleeps else resolution.least_copies,
            max_capacity=resolution.most_copies,
            scheduled_actions=_scheduled(hours, resolution.least_copies) if hours else None,
        )
        Policy(
            self,
            "Policy",
            policy_name="ConcurrentRequests",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self._target.ref,
            target_tracking_scaling_policy_configuration=Policy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=hosting.scaling.concurrent_requests_per_instance,
                scale_out_cooldown=hosting.scaling.scale_out_cooldown_in_seconds,
                scale_in_cooldown=hosting.scaling.scale_in_cooldown_in_seconds,
                predefined_metric_specification=Policy.PredefinedMetricSpecificationProperty(
                    predefined_metric_type="SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
                ),
            ),
        )
        if hosting.sleeps:
            self._wake(component_name, runbook_url)

    def _wake(self, component_name: str, runbook_url: str | None) -> None:
        """Start a copy for a call at zero, if no function of ours asked for it: tracking has no copy to divide by."""
        metric = cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name="NoCapacityInvocationFailures",
            dimensions_map={"InferenceComponentName": component_name},
            statistic=cloudwatch.Stats.MAXIMUM,
            period=Duration.minutes(1),
        )
        add_wake(
            self,
            "NoCapacity",
            self._target,
            metric=metric,
            # Not one more: a function may have asked for the first copy, and that takes minutes.
            adjustment_type="ExactCapacity",
            cooldown_in_seconds=_WAKE_COOLDOWN_IN_SECONDS,
            description=described(
                "a call of the last minute met the model asleep; this wakes it and tells nobody",
                "no-capacity",
                runbook_url,
            ),
        )


def _scheduled(hours: AwakeHours, copies: int) -> list[autoscaling.CfnScalableTarget.ScheduledActionProperty]:
    """Return the two changes of the least number of copies. After the second one, tracking lets the copies go."""
    begins = [_DAYS.index(day) for day in sorted(hours.days, key=_DAYS.index)]
    is_overnight = hours.end < hours.start
    ends = sorted((day + is_overnight) % len(_DAYS) for day in begins)
    return [
        Target.ScheduledActionProperty(
            scheduled_action_name=name,
            schedule=_cron(time, days),
            timezone=hours.time_zone,
            scalable_target_action=Target.ScalableTargetActionProperty(min_capacity=least),
        )
        for name, time, days, least in (("Awake", hours.start, begins, copies), ("MaySleep", hours.end, ends, 0))
    ]


def _cron(time: str, days: list[int]) -> str:
    hour, minute = map(int, time.split(":"))
    return f"cron({minute} {hour} ? * {','.join(_DAYS[day].upper() for day in days)} *)"

"""Automatic scaling of a SageMaker endpoint's instances, to zero and back where the endpoint can wake."""

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..alarm_group import described
from ..deployment.settings.hosting import Hosting
from .wake_alarm import add_wake

Policy = autoscaling.CfnScalingPolicy
Query = Policy.TargetTrackingMetricDataQueryProperty
Tracking = Policy.TargetTrackingScalingPolicyConfigurationProperty

# From AWS's example for asynchronous endpoints: longer than a new instance needs to appear in the metric.
_WAKE_COOLDOWN_IN_SECONDS = 300


class EndpointScaling(Construct):
    """Scaling between the counts of `hosting.instance_count`. The methods choose the metric that the count follows."""

    def __init__(
        self, scope: Construct, construct_id: str, *, endpoint_name: str, variant_name: str, hosting: Hosting
    ) -> None:
        super().__init__(scope, construct_id)
        self._endpoint_name, self._variant_name = endpoint_name, variant_name
        self._settings, self._types = hosting.scaling, hosting.instance_types
        self._target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            resource_id=f"endpoint/{endpoint_name}/variant/{variant_name}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            min_capacity=hosting.instance_count.min,
            max_capacity=hosting.instance_count.max,
        )

    def follow_requests_in_flight(self) -> None:
        """Follow the requests in flight per copy of the model. Invocations per minute mislead if answers take long."""
        target = self._settings.concurrent_requests_per_instance
        if len(self._types) > 1:
            metrics = Policy.CustomizedMetricSpecificationProperty(metrics=self._busiest_type())
            self._track("Policy", "ConcurrentRequests", target, customized_metric_specification=metrics)
            return
        metric = Policy.PredefinedMetricSpecificationProperty(
            predefined_metric_type="SageMakerVariantConcurrentRequestsPerModelHighResolution"
        )
        self._track("Policy", "ConcurrentRequests", target, predefined_metric_specification=metric)

    def follow_backlog(self) -> None:
        """Follow the waiting and running jobs per instance, a metric of asynchronous endpoints."""
        metric = Policy.CustomizedMetricSpecificationProperty(
            namespace="AWS/SageMaker",
            metric_name="ApproximateBacklogSizePerInstance",
            dimensions=[Policy.MetricDimensionProperty(name="EndpointName", value=self._endpoint_name)],
            statistic="Average",
        )
        target = self._settings.backlog_per_instance
        self._track("Backlog", "Backlog", target, customized_metric_specification=metric)

    def wake(self, runbook_url: str | None) -> None:
        """Start an instance for the first job at zero. Target tracking alone waits for a backlog above its target."""
        metric = cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name="HasBacklogWithoutCapacity",
            dimensions_map={"EndpointName": self._endpoint_name},
            statistic=cloudwatch.Stats.AVERAGE,
            period=Duration.minutes(1),
        )
        add_wake(
            self,
            "BacklogWithoutCapacity",
            self._target,
            metric=metric,
            adjustment_type="ChangeInCapacity",
            # An alarm that stays on acts each minute, and an instance takes minutes to start.
            cooldown_in_seconds=_WAKE_COOLDOWN_IN_SECONDS,
            description=described(
                "jobs waited in the last minute and no instance ran; this starts one and tells nobody",
                "backlog-without-capacity",
                runbook_url,
            ),
        )

    def _busiest_type(self) -> list[object]:
        """Return the metrics of the requests in flight per copy on each type, and the highest of them.

        The target is requests on one copy, as is the average of a type, so a sum over the types would scale out early.
        A type without instances has no data. Application Auto Scaling takes no period here, so a data point covers a
        minute; that of the predefined metric covers ten seconds.
        """
        metrics = []
        for number, instance_type in enumerate(self._types, start=1):
            dimensions = {
                "EndpointName": self._endpoint_name,
                "VariantName": self._variant_name,
                "InstanceType": instance_type,
            }
            metric = Policy.TargetTrackingMetricProperty(
                namespace="AWS/SageMaker",
                metric_name="ConcurrentRequestsPerModel",
                dimensions=[
                    Policy.TargetTrackingMetricDimensionProperty(name=name, value=value)
                    for name, value in dimensions.items()
                ],
            )
            stat = Policy.TargetTrackingMetricStatProperty(metric=metric, stat="Average")
            metrics.append(Query(id=f"type{number}", metric_stat=stat, return_data=False))
        filled = ", ".join(f"FILL({each.id}, 0)" for each in metrics)
        return [*metrics, Query(id="busiest", expression=f"MAX([{filled}])", return_data=True)]

    def _track(self, construct_id: str, name: str, target: int, **metric: object) -> None:
        Policy(
            self,
            construct_id,
            policy_name=name,
            policy_type="TargetTrackingScaling",
            scaling_target_id=self._target.ref,
            target_tracking_scaling_policy_configuration=Tracking(
                target_value=target,
                scale_out_cooldown=self._settings.scale_out_cooldown_in_seconds,
                scale_in_cooldown=self._settings.scale_in_cooldown_in_seconds,
                **metric,
            ),
        )

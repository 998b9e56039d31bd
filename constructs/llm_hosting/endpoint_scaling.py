"""Target tracking for the instances of a SageMaker real-time endpoint."""

from aws_cdk import aws_applicationautoscaling as autoscaling
from constructs import Construct

from .deployment import Hosting

Policy = autoscaling.CfnScalingPolicy


class EndpointScaling(Construct):
    """Follows the requests in flight per copy of the model: invocations per minute mislead where answers take long."""

    def __init__(
        self, scope: Construct, construct_id: str, *, endpoint_name: str, variant_name: str, hosting: Hosting
    ) -> None:
        super().__init__(scope, construct_id)
        target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            resource_id=f"endpoint/{endpoint_name}/variant/{variant_name}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            min_capacity=hosting.instance_count.min,
            max_capacity=hosting.instance_count.max,
        )
        Policy(
            self,
            "Policy",
            policy_name="ConcurrentRequests",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=Policy.TargetTrackingScalingPolicyConfigurationProperty(
                predefined_metric_specification=Policy.PredefinedMetricSpecificationProperty(
                    predefined_metric_type="SageMakerVariantConcurrentRequestsPerModelHighResolution"
                ),
                target_value=hosting.scaling.concurrent_requests_per_instance,
                scale_out_cooldown=hosting.scaling.scale_out_cooldown_in_seconds,
                scale_in_cooldown=hosting.scaling.scale_in_cooldown_in_seconds,
            ),
        )

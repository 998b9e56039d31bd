"""An endpoint without a model: inference components stand on it, and its instances go when no copy needs them."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from ...deployment.settings.hosting import Hosting
from ..variant import VARIANT_NAME, reserved_capacity, routing


class EmptyEndpoint:
    """The configuration and the endpoint, as children of `scope`: a level of its own would rename them.

    least: number of instances that always run. host_image: None = SageMaker's default. volume_key: an ARN.
    network: None = SageMaker's own.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        name: str,
        hosting: Hosting,
        least: int,
        host_image: str | None,
        role: iam.Role,
        volume_key: str | None,
        network: sagemaker.CfnModel.VpcConfigProperty | None,
    ) -> None:
        config = sagemaker.CfnEndpointConfig
        self.configuration = config(
            scope,
            "Configuration",
            kms_key_id=volume_key,
            # Without a model the configuration itself says which role and which network the instances have.
            execution_role_arn=role.role_arn,
            enable_network_isolation=hosting.network_isolation or None,
            vpc_config=network
            and config.VpcConfigProperty(security_group_ids=network.security_group_ids, subnets=network.subnets),
            metrics_config=config.MetricsConfigProperty(enable_detailed_observability=hosting.detailed_observability),
            production_variants=[
                config.ProductionVariantProperty(
                    variant_name=VARIANT_NAME,
                    instance_type=hosting.instance_types[0],
                    capacity_reservation_config=reserved_capacity(hosting),
                    initial_instance_count=max(least, 1),
                    volume_size_in_gb=hosting.volume_size_in_gb,
                    variant_instance_provision_timeout_in_seconds=hosting.provision_timeout_in_seconds,
                    inference_ami_version=host_image,
                    routing_config=routing(hosting),
                    managed_instance_scaling=config.ManagedInstanceScalingProperty(
                        status="ENABLED",
                        min_instance_count=least,
                        max_instance_count=hosting.instance_count.max,
                        # The other strategy also moves copies together, which ends the requests on them.
                        scale_in_policy=config.ScaleInPolicyProperty(strategy="IDLE_RELEASE"),
                    ),
                )
            ],
        )
        self.configuration.node.add_dependency(role)  # SageMaker checks the role's permissions at once
        # No rollout of its own: an update of a model is one of its component, and leaves the endpoint as it is.
        self.endpoint = sagemaker.CfnEndpoint(
            scope,
            "Endpoint",
            endpoint_name=name,
            endpoint_config_name=self.configuration.attr_endpoint_config_name,
        )

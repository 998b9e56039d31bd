"""A SageMaker real-time endpoint for one model: role, log group, model, configuration, endpoint, alarms, scaling."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .container_image import ContainerImage
from .deployment import Alarms, Hosting, Logs, Model
from .endpoint_alarms import EndpointAlarms
from .endpoint_scaling import EndpointScaling
from .execution_role import ExecutionRole
from .log_group import LogGroup
from .resolution import Resolution

VARIANT_NAME = "AllTraffic"  # guardrails need the same variant name in the old and the new configuration


class RealtimeEndpoint(Construct):
    """Built on the L1 resources: no L2 knows uncompressed weights, timeouts, host images or guardrails.

    `name` is `<stack name>-<8 hex characters of the stack id>`: known before the endpoint exists, so that role, log
    group and alarms can be bound to it, and new with each stack, so that nothing collides.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        model: Model,
        hosting: Hosting,
        alarms: Alarms,
        resolution: Resolution,
        log_settings: Logs,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{cdk.Aws.STACK_NAME}-{_first_characters_of_stack_id()}"
        self.log_group = LogGroup(
            self,
            "LogGroup",
            settings=log_settings,
            name=f"/aws/sagemaker/Endpoints/{self.name}",
            removal_policy=cdk.RemovalPolicy.RETAIN,  # the last words of an endpoint that failed to start
        )
        image = ContainerImage(self, "Image", image=resolution.image)
        role = ExecutionRole(self, "Role", image=image, log_group=self.log_group)
        if model.weights:
            role.allow_reading_weights(model.weights, model.weights_kms_key_arn)
        if hosting.volume_kms_key_arn:
            role.allow_encrypting_volume(hosting.volume_kms_key_arn)
        sagemaker_model = self._create_model(role, image, model, hosting, resolution)
        configuration = self._create_configuration(sagemaker_model, hosting, resolution)
        dimensions = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
        watch = EndpointAlarms(self, "Alarms", dimensions=dimensions, settings=alarms)
        if alarms.topic_arn:
            watch.notify(alarms.topic_arn)
        # Bound to the new fleet: with alarms on the whole endpoint, one that is unwell could not be updated.
        new_fleet = {**dimensions, "EndpointConfigName": configuration.attr_endpoint_config_name}
        rollback = EndpointAlarms(self, "RollbackAlarms", dimensions=new_fleet, settings=alarms)
        self.endpoint = self._create_endpoint(configuration, hosting, rollback.alarms)
        self._allow_watching(role, rollback.alarms)
        if hosting.instance_count.is_scaled:
            scaling = EndpointScaling(
                self, "Scaling", endpoint_name=self.name, variant_name=VARIANT_NAME, hosting=hosting
            )
            scaling.node.add_dependency(self.endpoint)  # made after and removed before the endpoint

    @property
    def arn(self) -> str:
        """ARN of the endpoint."""
        return f"arn:{cdk.Aws.PARTITION}:sagemaker:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:endpoint/{self.name}"

    @property
    def url(self) -> str:
        """Where SageMaker itself takes invocations."""
        return f"https://runtime.sagemaker.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}/endpoints/{self.name}/invocations"

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal call this endpoint."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["sagemaker:InvokeEndpoint"], resource_arns=[self.arn]
        )

    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal read this endpoint's status."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["sagemaker:DescribeEndpoint"], resource_arns=[self.arn]
        )

    def _create_model(
        self, role: ExecutionRole, image: ContainerImage, model: Model, hosting: Hosting, resolution: Resolution
    ) -> sagemaker.CfnModel:
        source = None
        if model.weights:
            source = sagemaker.CfnModel.ModelDataSourceProperty(
                s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                    s3_uri=model.weights, s3_data_type="S3Prefix", compression_type="None"
                )
            )
        sagemaker_model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=hosting.network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri, environment=resolution.environment, model_data_source=source
            ),
        )
        # SageMaker checks the role's permissions now; the reference alone would not wait for the role's policy.
        sagemaker_model.node.add_dependency(role)
        return sagemaker_model

    def _create_configuration(
        self, model: sagemaker.CfnModel, hosting: Hosting, resolution: Resolution
    ) -> sagemaker.CfnEndpointConfig:
        # No name: the configuration is immutable, so a fixed name would make every update collide.
        return sagemaker.CfnEndpointConfig(
            self,
            "Configuration",
            kms_key_id=hosting.volume_kms_key_arn,
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT_NAME,
                    model_name=model.attr_model_name,
                    instance_type=hosting.instance_type,
                    initial_instance_count=hosting.instance_count.min,
                    initial_variant_weight=1,
                    volume_size_in_gb=hosting.volume_size_in_gb,
                    model_data_download_timeout_in_seconds=hosting.download_timeout_in_seconds,
                    container_startup_health_check_timeout_in_seconds=hosting.startup_timeout_in_seconds,
                    inference_ami_version=resolution.inference_ami_version,
                    routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                        routing_strategy="LEAST_OUTSTANDING_REQUESTS"
                    ),
                )
            ],
        )

    def _create_endpoint(
        self, configuration: sagemaker.CfnEndpointConfig, hosting: Hosting, alarms: Sequence[cloudwatch.Alarm]
    ) -> sagemaker.CfnEndpoint:
        start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.name,
            endpoint_config_name=configuration.attr_endpoint_config_name,
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                    traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                        type="ALL_AT_ONCE"
                    ),
                    termination_wait_in_seconds=hosting.update_wait_in_seconds,
                    # Half an hour for instances to be found; SageMaker takes 600 to 28,800.
                    maximum_execution_timeout_in_seconds=start + hosting.update_wait_in_seconds + 1800,
                ),
                auto_rollback_configuration=sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
                    alarms=[sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
                ),
            ),
            # Only then: with a fixed count it would make an edit of the count do nothing.
            retain_all_variant_properties=True if hosting.instance_count.is_scaled else None,
        )
        endpoint.node.add_dependency(self.log_group)
        return endpoint

    def _allow_watching(self, role: ExecutionRole, alarms: Sequence[cloudwatch.Alarm]) -> None:
        # Without it SageMaker refuses to watch them. A policy of its own: the model waits for the role's first one,
        # and the alarms, which name the configuration, come after the model.
        statement = iam.PolicyStatement(
            actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in alarms]
        )
        self.endpoint.node.add_dependency(iam.Policy(self, "WatchAlarms", statements=[statement], roles=[role]))


def _first_characters_of_stack_id() -> str:
    """arn:…:stack/<name>/<GUID> -> the GUID's first 8 characters."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Aws.STACK_ID))
    first: str = cdk.Fn.select(0, cdk.Fn.split("-", guid))
    return first

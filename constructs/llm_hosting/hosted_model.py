"""A model on a SageMaker endpoint of either kind: role, log group, model, configuration, alarms, endpoint."""

from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from . import DEPLOYMENT_TAG
from .container_image import ContainerImage
from .deployment import Logs, Model
from .endpoint_alarms import AlarmSpec, EndpointAlarms
from .endpoint_scaling import EndpointScaling
from .execution_role import ExecutionRole
from .log_group import LogGroup
from .model_archive import ModelArchive
from .resolution import Resolution

VARIANT_NAME = "AllTraffic"  # guardrails need the same variant name in the old and the new configuration


class HostedModel(Construct):
    """Built on the L1 resources: no L2 knows uncompressed weights, timeouts, host images or guardrails.

    `name` is `<stack name>-<8 hex characters of the stack id>`: known before the endpoint exists, so that role, log
    group and alarms can be bound to it, and new with each stack, so that nothing collides. `environment` is for the
    functions that call the endpoint, `outputs` for the stack.

    model_handler: folder of an own model.py; None = the image's own code serves.
    alarms: they notify; some of them, and the share of calls that the model fails, roll a bad update back.
    asynchronous: None = a real-time endpoint.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        alarms: Sequence[AlarmSpec],
        asynchronous: sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        model = deployment.model
        self._hosting = hosting = deployment.hosting
        self.name = f"{cdk.Aws.STACK_NAME}-{_first_characters_of_stack_id()}"
        self.log_group = self._create_log_group(deployment.logs)
        self.outputs = {"EndpointName": self.name, "EndpointLogGroup": self.log_group.log_group_name}
        image = ContainerImage(self, "Image", image=resolution.image)
        self.role = ExecutionRole(self, "Role", image=image, log_group=self.log_group)
        if model.weights:
            self.role.allow_reading_weights(model.weights, model.weights_kms_key_arn)
        if hosting.volume_kms_key_arn:
            self.role.allow_encrypting_volume(hosting.volume_kms_key_arn)
        data = self._archive(model_handler, resolution) or _weights(model)
        sagemaker_model = self._create_model(image, data, resolution)
        configuration = self._create_configuration(sagemaker_model, resolution, asynchronous)
        configuration_name = configuration.attr_endpoint_config_name
        self.environment = {
            "ENDPOINT_NAME": self.name,
            "ENDPOINT_CONFIGURATION": configuration_name,
            "ENDPOINT_URL": self._url,
        }
        dimensions = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
        EndpointAlarms(self, "Alarms", dimensions=dimensions, specs=alarms, topic_arn=deployment.alarms.topic_arn)
        # Bound to the new fleet: alarms on the whole endpoint would stop the update that heals it.
        new_fleet = {**dimensions, "EndpointConfigName": configuration_name}
        watched = [spec for spec in alarms if spec.rolls_back]
        rollback = EndpointAlarms(self, "RollbackAlarms", dimensions=new_fleet, specs=watched, topic_arn=None)
        rollback.add_model_failures("Errors", configuration_name, deployment.alarms.error_rate)
        self._endpoint = self._create_endpoint(configuration, rollback.alarms)
        self._allow_reading(rollback.alarms)

    @property
    def arn(self) -> str:
        """ARN of the endpoint."""
        return f"arn:{cdk.Aws.PARTITION}:sagemaker:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:endpoint/{self.name}"

    @property
    def _url(self) -> str:
        """SageMaker's own URL for invocations."""
        return f"https://runtime.sagemaker.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}/endpoints/{self.name}/invocations"

    def add_scaling(self, construct_id: str) -> EndpointScaling:
        """Scale the number of instances automatically."""
        scaling = EndpointScaling(
            self, construct_id, endpoint_name=self.name, variant_name=VARIANT_NAME, hosting=self._hosting
        )
        scaling.node.add_dependency(self._endpoint)  # made after and removed before the endpoint
        return scaling

    def grant(self, grantee: iam.IGrantable, action: str) -> None:
        """Let a principal do one action on this endpoint."""
        iam.Grant.add_to_principal(grantee=grantee, actions=[action], resource_arns=[self.arn])

    def _create_log_group(self, settings: Logs) -> LogGroup:
        log_group = LogGroup(
            self,
            "LogGroup",
            settings=settings,
            name=f"/aws/sagemaker/Endpoints/{self.name}",
            removal_policy=cdk.RemovalPolicy.RETAIN,  # an endpoint that failed to start says why there
        )
        cdk.Tags.of(log_group).add(DEPLOYMENT_TAG, cdk.Aws.STACK_NAME)
        return log_group

    def _archive(
        self, handler: Path | None, resolution: Resolution
    ) -> sagemaker.CfnModel.ModelDataSourceProperty | None:
        if resolution.properties is None:
            return None
        archive = ModelArchive(self, "Archive", handler=handler, properties=resolution.properties)
        archive.grant_read(self.role)
        return _source(archive.uri, "S3Object", "Gzip")

    def _create_model(
        self, image: ContainerImage, data: sagemaker.CfnModel.ModelDataSourceProperty | None, resolution: Resolution
    ) -> sagemaker.CfnModel:
        sagemaker_model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=self._hosting.network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri, environment=resolution.environment, model_data_source=data
            ),
        )
        # SageMaker checks the role's permissions when it creates the model; a reference would not wait for the policy.
        sagemaker_model.node.add_dependency(self.role)
        return sagemaker_model

    def _create_configuration(
        self,
        model: sagemaker.CfnModel,
        resolution: Resolution,
        asynchronous: sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None,
    ) -> sagemaker.CfnEndpointConfig:
        hosting = self._hosting
        pools = _pools(hosting.instance_types) if len(hosting.instance_types) > 1 else None
        # No name: the configuration is immutable, so a fixed name would make every update collide.
        return sagemaker.CfnEndpointConfig(
            self,
            "Configuration",
            kms_key_id=hosting.volume_kms_key_arn,
            async_inference_config=asynchronous,
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT_NAME,
                    model_name=model.attr_model_name,
                    instance_type=None if pools else hosting.instance_types[0],
                    instance_pools=pools,
                    initial_instance_count=max(hosting.instance_count.min, 1),  # no endpoint starts with none
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
        self, configuration: sagemaker.CfnEndpointConfig, alarms: Sequence[cloudwatch.Alarm]
    ) -> sagemaker.CfnEndpoint:
        hosting = self._hosting
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
            # With a fixed count it would make an edit of the count do nothing.
            retain_all_variant_properties=True if hosting.instance_count.is_scaled else None,
        )
        endpoint.node.add_dependency(self.log_group)
        return endpoint

    def _allow_reading(self, alarms: Sequence[cloudwatch.Alarm]) -> None:
        # SageMaker refuses rollback alarms that the role may not read. A policy of its own: the model waits for the
        # role's first one, and the alarms, which name the configuration, come after the model.
        statement = iam.PolicyStatement(
            actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in alarms]
        )
        self._endpoint.node.add_dependency(iam.Policy(self, "WatchAlarms", statements=[statement], roles=[self.role]))


def _weights(model: Model) -> sagemaker.CfnModel.ModelDataSourceProperty | None:
    return _source(model.weights, "S3Prefix", "None") if model.weights else None


def _source(uri: str, data_type: str, compression: str) -> sagemaker.CfnModel.ModelDataSourceProperty:
    location = sagemaker.CfnModel.S3DataSourceProperty(s3_uri=uri, s3_data_type=data_type, compression_type=compression)
    return sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=location)


def _pools(types: Sequence[str]) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty]:
    """In priority order: SageMaker takes the first type that it has."""
    return [
        sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=name, priority=priority)
        for priority, name in enumerate(types, start=1)
    ]


def _first_characters_of_stack_id() -> str:
    """arn:…:stack/<name>/<GUID> -> the GUID's first 8 characters."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Aws.STACK_ID))
    first: str = cdk.Fn.select(0, cdk.Fn.split("-", guid))
    return first

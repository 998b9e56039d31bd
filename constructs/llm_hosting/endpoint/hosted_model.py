"""A model on a real-time or asynchronous endpoint: role, log group, model, configuration, alarms, endpoint."""

from collections.abc import Sequence
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .. import DEPLOYMENT_TAG, ENDPOINT_LOGS
from ..deployment.model import Hosting, InstanceCount, Logs, Model
from ..log_group import LogGroup
from ..resolution import Resolution
from ..resolution.variant_weight import variant_weight
from ..security_group import SecurityGroup
from ..surroundings import Surroundings
from .alarms import AlarmSpec, EndpointAlarms
from .container_image import ContainerImage
from .execution_role import ExecutionRole
from .model_archive import ModelArchive
from .scaling import EndpointScaling

VARIANT_NAME = "AllTraffic"  # an update needs the same variant name in the old and the new configuration
_PROVISION_TIMEOUT_IN_SECONDS = 1800  # for an update, if the deployment sets none


class HostedModel(Construct):
    """An endpoint made of L1 resources, because no L2 has uncompressed weights, timeouts, host images or guardrails.

    name: `<service name>-<8 hex characters of the stack id>`. It is known before the endpoint exists, so that role, log
    group and alarms can name it, and it differs for each stack, so that nothing collides.
    environment: variables for the functions that call the endpoint. outputs: the stack's outputs.

    model_handler: the folder of a handler, model.py; None = the image's own code serves.
    alarms: all notify, and `alarms` has them by their ids. Some of them, and the share of failed calls, also roll a bad
    update back.
    asynchronous: None = a real-time endpoint.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        surroundings: Surroundings,
        alarms: Sequence[AlarmSpec],
        asynchronous: sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        self._hosting, self._surroundings = deployment.hosting, surroundings
        self._volume_key = surroundings.volume_key(
            deployment.hosting.volume_kms_key_arn, takes_key=resolution.volume_takes_key
        )
        self.name = surroundings.unique_name
        self._dimensions = dimensions = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
        self.log_group = self._create_log_group(deployment.logs)
        self.outputs = {"EndpointName": self.name, "EndpointLogGroup": self.log_group.log_group_name}
        if self._hosting.detailed_observability:
            self.outputs["EndpointPage"] = self._page
        image = ContainerImage(self, "Image", image=resolution.image)
        archive = self._create_archive(model_handler, resolution)
        self.role = ExecutionRole(self, "Role", log_group=self.log_group)
        self.role.allow_artefacts(deployment.model, self._volume_key, image, archive)
        sagemaker_model = self._create_model(image, _data(archive, deployment.model), resolution)
        configuration = self._create_configuration(sagemaker_model, resolution, asynchronous)
        configuration_name = configuration.attr_endpoint_config_name
        self.environment = {
            "ENDPOINT_NAME": self.name,
            "ENDPOINT_CONFIGURATION": configuration_name,
            "ENDPOINT_URL": self._url,
        }
        told = EndpointAlarms(self, "Alarms", dimensions=dimensions, specs=alarms, topic=surroundings.alarm_topic)
        if deployment.alarms.idle_in_hours:
            idle = told.add_idle(dimensions, deployment.alarms.idle_in_hours)
            self.outputs["IdleAlarm"] = idle.alarm_name
        self.alarms = told.alarms
        # Bound to the new configuration: alarms on the whole endpoint would also stop an update that repairs it.
        new_fleet = {**dimensions, "EndpointConfigName": configuration_name}
        guards = [each._replace(threshold=each.rollback_threshold) for each in alarms if each.rollback_threshold]
        rollback = EndpointAlarms(self, "RollbackAlarms", dimensions=new_fleet, specs=guards, topic=None)
        rollback.add_model_failures(configuration_name, deployment.alarms.error_rate)
        guarding = list(rollback.alarms.values())
        self._endpoint = self._create_endpoint(configuration, guarding)
        self._scaling: EndpointScaling | None = None
        self._allow_reading(guarding)

    @property
    def arn(self) -> str:
        """The ARN of the endpoint."""
        return f"arn:{cdk.Aws.PARTITION}:sagemaker:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:endpoint/{self.name}"

    @property
    def _url(self) -> str:
        """SageMaker's own URL for invocations."""
        return f"https://runtime.sagemaker.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}/endpoints/{self.name}/invocations"

    @property
    def _page(self) -> str:
        """The endpoint in SageMaker's console, whose "View in SageMaker Insights" shows the detailed metrics."""
        region = cdk.Aws.REGION
        return f"https://{region}.console.aws.amazon.com/sagemaker/home?region={region}#/endpoints/{self.name}"

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name="ModelLatency",
            dimensions_map=self._dimensions,
            statistic=cloudwatch.Stats.percentile(99),
            period=cdk.Duration.minutes(1),
        )

    def add_scaling(self, construct_id: str) -> EndpointScaling:
        """Scale the number of instances automatically."""
        self._scaling = EndpointScaling(
            self, construct_id, endpoint_name=self.name, variant_name=VARIANT_NAME, hosting=self._hosting
        )
        self._scaling.node.add_dependency(self._endpoint)  # created after the endpoint and deleted before it
        return self._scaling

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the endpoint after everything else of the service but its scaling, and delete it before them.

        Otherwise a failure elsewhere could roll the stack back while the endpoint is `Creating`. SageMaker then refuses
        to delete it, the stack ends as ROLLBACK_FAILED, and the instances go on billing.
        """
        scope, later = self, [self._endpoint, self._scaling]
        while True:  # everything beside the endpoint, at each level up to the service
            self._endpoint.node.add_dependency(*(each for each in scope.node.children if each not in later))
            if scope is service:
                return
            scope, later = scope.node.scope, [scope]

    def grant(self, grantee: iam.IGrantable, action: str) -> None:
        """Let a principal do one action on this endpoint."""
        iam.Grant.add_to_principal(grantee=grantee, actions=[action], resource_arns=[self.arn])

    def _create_log_group(self, settings: Logs) -> LogGroup:
        log_group = LogGroup(
            self,
            "LogGroup",
            retention_in_days=settings.retention_in_days,
            key=self._surroundings.log_key,
            name=f"{ENDPOINT_LOGS}{self.name}",
            removal_policy=cdk.RemovalPolicy.RETAIN,  # kept, because it holds the reason of a failed start
        )
        self._tag(log_group)
        return log_group

    def _create_archive(self, handler: Path | None, resolution: Resolution) -> ModelArchive | None:
        if resolution.properties is None:
            return None
        return ModelArchive(self, "Archive", handler=handler, properties=resolution.properties)

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
            vpc_config=self._vpc_config(),
        )
        # SageMaker checks the role's permissions when it creates the model; a reference would not wait for the policy.
        sagemaker_model.node.add_dependency(self.role)
        self._outlive_replacement(sagemaker_model)
        return sagemaker_model

    def _vpc_config(self) -> sagemaker.CfnModel.VpcConfigProperty | None:
        network = self._surroundings.network
        if network is None:
            return None
        self.role.allow_network_interfaces()
        group = SecurityGroup(self, "SecurityGroup", vpc_id=network.vpc_id)
        return sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[group.attr_group_id], subnets=network.subnet_ids
        )

    def _create_configuration(
        self,
        model: sagemaker.CfnModel,
        resolution: Resolution,
        asynchronous: sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None,
    ) -> sagemaker.CfnEndpointConfig:
        hosting = self._hosting
        pools = _pools(hosting.instance_types) if len(hosting.instance_types) > 1 else None
        # No name: the configuration is immutable, so a fixed name would make every update collide.
        configuration = sagemaker.CfnEndpointConfig(
            self,
            "Configuration",
            kms_key_id=self._volume_key,
            async_inference_config=asynchronous,
            # SageMaker's default is true, which costs money, so the template always says it.
            metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
                enable_detailed_observability=hosting.detailed_observability
            ),
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT_NAME,
                    model_name=model.attr_model_name,
                    instance_type=None if pools else hosting.instance_types[0],
                    instance_pools=pools,
                    initial_instance_count=max(hosting.instance_count.min, 1),  # no endpoint starts with zero instances
                    initial_variant_weight=variant_weight(hosting),
                    volume_size_in_gb=hosting.volume_size_in_gb,
                    model_data_download_timeout_in_seconds=hosting.download_timeout_in_seconds,
                    container_startup_health_check_timeout_in_seconds=hosting.startup_timeout_in_seconds,
                    variant_instance_provision_timeout_in_seconds=hosting.provision_timeout_in_seconds,
                    inference_ami_version=resolution.inference_ami_version,
                    routing_config=_routing(hosting),
                )
            ],
        )
        self._outlive_replacement(configuration)
        return configuration

    def _create_endpoint(
        self, configuration: sagemaker.CfnEndpointConfig, alarms: Sequence[cloudwatch.Alarm]
    ) -> sagemaker.CfnEndpoint:
        hosting = self._hosting
        start = hosting.download_timeout_in_seconds + hosting.startup_timeout_in_seconds
        provision = hosting.provision_timeout_in_seconds or _PROVISION_TIMEOUT_IN_SECONDS
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.name,
            endpoint_config_name=configuration.attr_endpoint_config_name,
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                    traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                        type="ALL_AT_ONCE",
                        wait_interval_in_seconds=0,  # the API requires it for every type
                    ),
                    termination_wait_in_seconds=hosting.update_wait_in_seconds,
                    # SageMaker takes 600 to 28,800.
                    maximum_execution_timeout_in_seconds=provision + start + hosting.update_wait_in_seconds,
                ),
                auto_rollback_configuration=sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
                    alarms=[sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
                ),
            ),
            # With a fixed count it would void an edit of the count.
            retain_all_variant_properties=True if hosting.instance_count.is_scaled else None,
            exclude_retained_variant_properties=_not_retained(hosting.instance_count),
        )
        endpoint.node.add_dependency(self.log_group)
        if self._surroundings.network:
            endpoint.node.add_dependency(self._surroundings.network.connected)
        self._tag(endpoint)
        return endpoint

    def _allow_reading(self, alarms: Sequence[cloudwatch.Alarm]) -> None:
        # SageMaker refuses rollback alarms that the role can't read. This is a second policy: the model waits for the
        # first one, and the alarms, which name the configuration, come after the model.
        statement = iam.PolicyStatement(
            actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in alarms]
        )
        self._endpoint.node.add_dependency(iam.Policy(self, "WatchAlarms", statements=[statement], roles=[self.role]))

    def _outlive_replacement(self, resource: cdk.CfnResource) -> None:
        """Keep replaced resources: SageMaker may have rolled back to them although CloudFormation reports success.

        terraform-provider-aws#48997, #39099 and #46663. `slipway purge` removes the unused ones.
        """
        resource.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
        resource.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.DELETE  # cfn-lint wants both policies
        self._tag(resource)

    def _tag(self, resource: Construct) -> None:
        cdk.Tags.of(resource).add(DEPLOYMENT_TAG, self._surroundings.name)


def _data(archive: ModelArchive | None, model: Model) -> sagemaker.CfnModel.ModelDataSourceProperty | None:
    if archive:
        return _source(archive.uri, "S3Object", "Gzip")
    return _source(model.weights, "S3Prefix", "None") if model.weights else None


def _source(uri: str, data_type: str, compression: str) -> sagemaker.CfnModel.ModelDataSourceProperty:
    location = sagemaker.CfnModel.S3DataSourceProperty(s3_uri=uri, s3_data_type=data_type, compression_type=compression)
    return sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=location)


def _not_retained(count: InstanceCount) -> list[sagemaker.CfnEndpoint.VariantPropertyProperty] | None:
    """Return what an update does not take over from the running variant.

    If min is 0, the current count is not retained: an update at zero would start no instance and prove nothing.
    """
    if count.min:
        return None
    return [sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type="DesiredInstanceCount")]


def _routing(hosting: Hosting) -> sagemaker.CfnEndpointConfig.RoutingConfigProperty:
    prefix_aware = sagemaker.CfnEndpointConfig.PrefixAwareRoutingConfigProperty(
        prefix_length=hosting.routing_prefix_in_bytes,
        concurrency_threshold=hosting.scaling.concurrent_requests_per_instance,
    )
    return sagemaker.CfnEndpointConfig.RoutingConfigProperty(
        routing_strategy=hosting.routing.replace("-", "_").upper(),
        prefix_aware_routing_config=prefix_aware if hosting.routing == "prefix-aware" else None,
    )


def _pools(types: Sequence[str]) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty]:
    """Return the instance pools in priority order: SageMaker takes the first type with capacity."""
    return [
        sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=name, priority=priority)
        for priority, name in enumerate(types, start=1)
    ]

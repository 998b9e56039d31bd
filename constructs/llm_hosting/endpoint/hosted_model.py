"""A model on a real-time or asynchronous endpoint: role, log group, model, configuration, alarms, endpoint."""

from collections.abc import Sequence
from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .. import ENDPOINT_LOGS
from ..dashboard.cost import price_of
from ..dashboard.panel import Panel
from ..deployment.settings.hosting import Hosting
from ..resolution import Resolution
from ..resolution.variant_weight import variant_weight
from ..surroundings import Surroundings
from .addresses import arn_of, page_of, url_of
from .alarms import AlarmSpec, EndpointAlarms, latency_panel, model_latency
from .creation_order import create_last
from .data_capture import DataCaptureBucket
from .execution_role import METRICS
from .instance_panels import busy_instances, engine_panel, instance_panels
from .rollout import deployment_config, watch_alarms
from .scaling import EndpointScaling
from .served_model import ServedModel
from .variant import VARIANT_NAME, reserved_capacity, routing


class HostedModel(Construct):
    """An endpoint made of L1 resources, because no L2 has uncompressed weights, timeouts, host images or guardrails.

    dimensions: of its metrics.
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
        self._resolution, self._surroundings, self._hosting = resolution, surroundings, deployment.hosting
        self.name = surroundings.unique_name
        self.dimensions = dimensions = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
        self._served = ServedModel(
            self,
            resolution=resolution,
            model_handler=model_handler,
            surroundings=surroundings,
            log_group_name=f"{ENDPOINT_LOGS}{self.name}",
            namespaces=METRICS,
        )
        self.role, self.log_group = self._served.role, self._served.log_group
        self.outputs = {"EndpointName": self.name, "EndpointLogGroup": self.log_group.log_group_name}
        if self._hosting.detailed_observability:
            self.outputs["EndpointPage"] = page_of(self.name)
        self._capture = self._hosting.data_capture and DataCaptureBucket(
            self, "DataCapture", settings=self._hosting.data_capture, surroundings=surroundings, role=self.role
        )
        if self._capture:
            self.outputs |= self._capture.outputs
        configuration = self._create_configuration(resolution, asynchronous)
        configuration_name = configuration.attr_endpoint_config_name
        self.environment = {
            "ENDPOINT_NAME": self.name,
            "ENDPOINT_CONFIGURATION": configuration_name,
            "ENDPOINT_URL": url_of(self.name),
            **({"UPDATES_BY_PARTS": "true"} if deployment.hosting.updates_by_parts else {}),
        }
        told = EndpointAlarms(self, "Alarms", dimensions=dimensions, specs=alarms, surroundings=surroundings)
        if deployment.alarms.idle_in_hours:
            idle = told.add_idle(dimensions, dimensions, deployment.alarms.idle_in_hours)
            self.outputs["IdleAlarm"] = idle.alarm_name
        self.alarms = told.alarms
        # Bound to the new configuration: alarms on the whole endpoint would also stop an update that repairs it.
        new_fleet = {**dimensions, "EndpointConfigName": configuration_name}
        guards = [each._replace(threshold=each.rollback_threshold) for each in alarms if each.rollback_threshold]
        rollback = EndpointAlarms(
            self, "RollbackAlarms", dimensions=new_fleet, specs=guards, surroundings=surroundings, notifies=False
        )
        rollback.add_model_failures(configuration_name, deployment.alarms.error_rate)
        guarding = list(rollback.alarms.values())
        self._endpoint = self._create_endpoint(configuration, guarding)
        self._scaling: EndpointScaling | None = None
        self._endpoint.node.add_dependency(watch_alarms(self, self.role, guarding))

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return model_latency(self.dimensions)

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the endpoint in every mode."""
        page = page_of(self.name) if self._hosting.detailed_observability else None
        return [
            latency_panel(self.dimensions),
            *instance_panels(
                self.dimensions,
                price_of(self, *(each.instance for each in self._resolution.placements)),
                self._hosting.instance_count.max,
                self._surroundings,
            ),
            busy_instances(self.dimensions, self._resolution.placements[0].instance),
            engine_panel(page),
        ]

    def add_scaling(self, construct_id: str) -> EndpointScaling:
        """Scale the number of instances automatically."""
        self._scaling = EndpointScaling(
            self, construct_id, endpoint_name=self.name, variant_name=VARIANT_NAME, hosting=self._hosting
        )
        self._scaling.node.add_dependency(self._endpoint)  # created after the endpoint and deleted before it
        return self._scaling

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the endpoint after everything else of the service but its scaling, and delete it before them."""
        create_last(self._endpoint, service, later=[self._scaling] if self._scaling else [])

    def grant(self, grantee: iam.IGrantable, action: str) -> None:
        """Let a principal do one action on this endpoint."""
        iam.Grant.add_to_principal(grantee=grantee, actions=[action], resource_arns=[arn_of("endpoint", self.name)])

    def _create_configuration(
        self,
        resolution: Resolution,
        asynchronous: sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None,
    ) -> sagemaker.CfnEndpointConfig:
        hosting = self._hosting
        pools = _pools(hosting.instance_types) if len(hosting.instance_types) > 1 else None
        # No name: the configuration is immutable, so a fixed name would make every update collide.
        configuration = sagemaker.CfnEndpointConfig(
            self,
            "Configuration",
            kms_key_id=self._served.volume_key,
            async_inference_config=asynchronous,
            data_capture_config=self._capture and self._capture.configuration,
            # SageMaker's default is true, which costs money, so the template always says it.
            metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
                enable_detailed_observability=hosting.detailed_observability
            ),
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT_NAME,
                    model_name=self._served.model.attr_model_name,
                    instance_type=None if pools else hosting.instance_types[0],
                    instance_pools=pools,
                    capacity_reservation_config=reserved_capacity(hosting),
                    initial_instance_count=max(hosting.instance_count.min, 1),  # no endpoint starts with zero instances
                    initial_variant_weight=variant_weight(hosting),
                    volume_size_in_gb=hosting.volume_size_in_gb,
                    model_data_download_timeout_in_seconds=hosting.download_timeout_in_seconds,
                    container_startup_health_check_timeout_in_seconds=hosting.startup_timeout_in_seconds,
                    variant_instance_provision_timeout_in_seconds=hosting.provision_timeout_in_seconds,
                    inference_ami_version=resolution.inference_ami_version,
                    routing_config=routing(hosting),
                )
            ],
        )
        self._served.outlive_replacement(configuration)
        return configuration

    def _create_endpoint(
        self, configuration: sagemaker.CfnEndpointConfig, alarms: Sequence[cloudwatch.Alarm]
    ) -> sagemaker.CfnEndpoint:
        hosting = self._hosting
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.name,
            endpoint_config_name=configuration.attr_endpoint_config_name,
            deployment_config=deployment_config(hosting, alarms),
            # With a fixed count it would void an edit of the count.
            retain_all_variant_properties=True if hosting.instance_count.is_scaled else None,
            exclude_retained_variant_properties=_not_retained(hosting),
        )
        self._served.start_after_preparations(endpoint)
        self._served.tag(endpoint)
        return endpoint


def _not_retained(hosting: Hosting) -> list[sagemaker.CfnEndpoint.VariantPropertyProperty] | None:
    """Return what an update of an endpoint that scales does not take over from the running variant.

    If min is 0, the current count is not retained: an update at zero would start no instance and prove nothing.
    """
    left_out = {
        "DesiredInstanceCount": not hosting.instance_count.min,
        "DataCaptureConfig": hosting.instance_count.is_scaled and hosting.data_capture is not None,
    }
    kinds = [kind for kind, is_left_out in left_out.items() if is_left_out]
    return [sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=kind) for kind in kinds] or None


def _pools(types: Sequence[str]) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty]:
    """Return the instance pools in priority order: SageMaker takes the first type with capacity."""
    return [
        sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=name, priority=priority)
        for priority, name in enumerate(types, start=1)
    ]

"""A model as an inference component: it stands on an endpoint that may be at zero instances, or hold other models."""

from collections.abc import Sequence
from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from ... import COMPONENT_LOGS
from ...acknowledgement import acknowledge, resource_in_findings
from ...dashboard.panel import Panel, Question, graph, metric, of
from ...deployment.model import Deployment
from ...deployment.settings.hosting import Hosting
from ...resolution import Resolution
from ...resolution.estimates import wake_in_seconds
from ...surroundings import Surroundings
from ..addresses import arn_of
from ..alarms import (
    CALLS_OF_FUNCTIONS,
    FAILED_CALLS,
    EndpointAlarms,
    error_panel,
    latency_panel,
    model_latency,
    realtime_alarms,
)
from ..execution_role import METRICS_OF_COMPONENTS
from ..instance_panels import busy_copies, in_flight
from ..rollout import component_deployment_config, watch_alarms
from ..served_model import ServedModel
from ..variant import VARIANT_NAME
from .adapters import Adapters
from .scaling import ComponentScaling

_DESCRIBE, _SET_COPIES = "sagemaker:DescribeInferenceComponent", "sagemaker:UpdateInferenceComponentRuntimeConfig"
_OWN_ADAPTERS = "The name before the star is this stack's own, so only components of its model's adapters match."
_USUAL_START_IN_SECONDS = 600  # of a model whose size is not known


class InferenceComponent(Construct):
    """The base component of a deployment: its model, its copies and their scaling, its alarms.

    name: `<service name>-<8 hex characters of the stack id>`, known before the component exists.
    served: role, log group and model. alarms: those that notify, by their ids.
    environment: variables for the functions that call it. outputs: the stack's outputs.

    endpoint_name: the name of an endpoint without a model of its own. endpoint_role: as `ServedModel` takes it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        surroundings: Surroundings,
        endpoint_name: str,
        endpoint_role: iam.IRole | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        self._resolution, self._surroundings = resolution, surroundings
        self.name = surroundings.unique_name
        self.dimensions = {"InferenceComponentName": self.name}  # SageMaker's metrics of a component have no other
        self.served = ServedModel(
            self,
            resolution=resolution,
            model_handler=model_handler,
            surroundings=surroundings,
            log_group_name=f"{COMPONENT_LOGS}{self.name}",
            namespaces=METRICS_OF_COMPONENTS,
            endpoint_role=endpoint_role,
        )
        self._told = EndpointAlarms(
            self,
            "Alarms",
            dimensions=self.dimensions,
            specs=realtime_alarms(deployment.alarms, takes_jobs=deployment.jobs.enabled),
            surroundings=surroundings,
        )
        self.alarms = self._told.alarms
        self.environment = {"INFERENCE_COMPONENT": self.name} | _of_sleep(resolution)
        self.outputs = {
            "InferenceComponentName": self.name,
            "EndpointLogGroup": self.served.log_group.log_group_name,
        }
        self._component = self._create_component(resolution, endpoint_name)
        self._adapters = self._create_adapters(deployment, endpoint_name)
        self._names_of_adapters = self._adapters.components if self._adapters else {}
        self._scaling = None
        if deployment.is_scaled:
            self._scaling = ComponentScaling(
                self,
                "Scaling",
                component_name=self.name,
                resolution=resolution,
                runbook_url=surroundings.runbook_url,
            )
            self._scaling.node.add_dependency(self._component)  # created after the component and deleted before it

    @property
    def after_endpoint(self) -> Sequence[Construct]:
        """What must be created after the endpoint and deleted before it."""
        return [each for each in (self._component, self._adapters, self._scaling) if each]

    def guard_updates(self, configuration: str, hosting: Hosting, error_rate: float) -> None:
        """Let alarms on failed calls undo an update in batches. configuration: the name by which functions count calls.

        Old and new copies count together, as SageMaker does not say which one answered.
        """
        if hosting.rolling is None:
            return
        rollback = EndpointAlarms(
            self,
            "RollbackAlarms",
            dimensions=self.dimensions,
            specs=(),
            surroundings=self._surroundings,
            notifies=False,
        )
        rollback.add_model_failures(configuration, error_rate)
        alarms = list(rollback.alarms.values())
        self._component.deployment_config = component_deployment_config(hosting, hosting.rolling.batch, alarms)
        self._component.node.add_dependency(watch_alarms(self, self.served.role, alarms))

    def start_after(self, endpoint: IDependable) -> None:
        """Create the component after its endpoint, and delete it before: SageMaker deletes no component with it."""
        self._component.node.add_dependency(endpoint)

    def grant_invoke(self, grantee: iam.IGrantable, *actions: str) -> None:
        """Let a principal that may call the endpoint name this component and its adapters."""
        self._allow(grantee, *actions)
        if self._adapters:
            # One pattern for all adapters, so that a new one changes no function's permissions.
            arn = arn_of("inference-component", f"{self.name}-*")
            iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[arn])
            finding = f"AwsSolutions-IAM5[Resource::{resource_in_findings(self, arn)}]"
            acknowledge(grantee.grant_principal, {finding: _OWN_ADAPTERS})

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read the status and the copies of this component."""
        self._allow(grantee, _DESCRIBE)

    def grant_wake(self, grantee: iam.IGrantable) -> None:
        """Let a principal read how many copies run, and ask for one."""
        self._allow(grantee, _DESCRIBE, _SET_COPIES)

    def add_idle_alarm(self, of_instances: dict[str, str], hours: int, configuration: str) -> cloudwatch.Alarm:
        """Add an alarm on instances that ran for this many hours without a request.

        of_instances: their dimensions. configuration: the name of the endpoint's, by which the functions count calls.
        """
        if self._adapters:
            # SageMaker counts a call of an adapter by the adapter's own name.
            of_calls = {"EndpointConfigName": configuration}
            return self._told.add_idle(of_calls, of_instances, hours, counted_by=CALLS_OF_FUNCTIONS)
        return self._told.add_idle(self.dimensions, of_instances, hours)

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return model_latency(self.dimensions)

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the component, whoever owns its endpoint."""
        adapters = {
            name: {"InferenceComponentName": of_adapter} for name, of_adapter in self._names_of_adapters.items()
        }
        return [
            error_panel(self.dimensions, FAILED_CALLS),
            latency_panel(self.dimensions, adapters),
            in_flight("ConcurrentRequestsPerCopy", self.dimensions),
            busy_copies(self.dimensions, self._resolution.placements[0].instance),
            *([self._of_wakes()] if self._resolution.deployment.hosting.sleeps else []),
        ]

    def _of_wakes(self) -> Panel:
        refused = metric(
            "AWS/SageMaker",
            "NoCapacityInvocationFailures",
            self.dimensions,
            cloudwatch.Stats.SUM,
            "calls without a copy",
        )
        took = of(self._surroundings.metric("WakeSeconds", cloudwatch.Stats.MAXIMUM), "Maximum", "seconds of a wake")
        return Panel(
            Question.FAST,
            "A call that meets the model asleep wakes it and waits.",
            [graph("Wakes", took, unit="seconds"), graph("Asleep", refused, unit="calls")],
        )

    def _allow(self, grantee: iam.IGrantable, *actions: str) -> None:
        arn = arn_of("inference-component", self.name)
        iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[arn])

    def _create_adapters(self, deployment: Deployment, endpoint_name: str) -> Adapters | None:
        """Create the adapters after the model, and delete them before it."""
        if not deployment.has_adapter_components:
            return None
        return Adapters(
            self,
            "Adapters",
            model=deployment.model,
            base=self._component,
            endpoint_name=endpoint_name,
            served=self.served,
        )

    def _create_component(self, resolution: Resolution, endpoint_name: str) -> sagemaker.CfnInferenceComponent:
        hosting, copy = resolution.deployment.hosting, resolution.component_copy
        component = sagemaker.CfnInferenceComponent
        created = component(
            self,
            "Component",
            inference_component_name=self.name,
            endpoint_name=endpoint_name,
            variant_name=VARIANT_NAME,
            specification=component.InferenceComponentSpecificationProperty(
                model_name=self.served.model.attr_model_name,
                startup_parameters=component.InferenceComponentStartupParametersProperty(
                    model_data_download_timeout_in_seconds=hosting.download_timeout_in_seconds,
                    container_startup_health_check_timeout_in_seconds=hosting.startup_timeout_in_seconds,
                ),
                compute_resource_requirements=component.InferenceComponentComputeResourceRequirementsProperty(
                    number_of_accelerator_devices_required=copy.accelerators or None,
                    number_of_cpu_cores_required=copy.cpu_cores,
                    min_memory_required_in_mb=copy.memory_in_mb,
                ),
                data_cache_config=(
                    component.InferenceComponentDataCacheConfigProperty(enable_caching=True)
                    if hosting.cache_weights
                    else None
                ),
                scheduling_config=_over_zones() if hosting.spread_over_zones else None,
            ),
            # SageMaker creates no component at zero copies. One that sleeps goes there by its scaling.
            runtime_config=component.InferenceComponentRuntimeConfigProperty(
                copy_count=1 if hosting.sleeps else resolution.least_copies
            ),
        )
        created.node.add_dependency(self.served.log_group)
        self.served.tag(created)
        return created


def _over_zones() -> sagemaker.CfnInferenceComponent.InferenceComponentSchedulingConfigProperty:
    return sagemaker.CfnInferenceComponent.InferenceComponentSchedulingConfigProperty(
        placement_strategy="SPREAD",
        # The only mode: where zones lack instances, copies are placed without balance.
        availability_zone_balance=sagemaker.CfnInferenceComponent.InferenceComponentAvailabilityZoneBalanceProperty(
            enforcement_mode="PERMISSIVE"
        ),
    )


def _of_sleep(resolution: Resolution) -> dict[str, str]:
    """Return the variables for functions that wake the model."""
    hosting = resolution.deployment.hosting
    if not hosting.sleeps:
        return {}
    estimate = wake_in_seconds(resolution.placements[0])
    return {
        "WAKES_PER_DAY": str(hosting.wakes_per_day),
        "START_ESTIMATE_IN_SECONDS": str(round(estimate.likely or _USUAL_START_IN_SECONDS)),
    }

"""A real-time endpoint whose model is an inference component, so that it can go to zero instances and wake."""

from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from ... import COMPONENT_ENDPOINT_SUFFIX
from ...dashboard.cost import price_of
from ...dashboard.panel import Panel, Question
from ...resolution import Resolution
from ...surroundings import Surroundings
from ..addresses import arn_of, page_of, url_of
from ..creation_order import create_last
from ..instance_panels import engine_panel, instance_panels
from ..variant import VARIANT_NAME
from .empty_endpoint import EmptyEndpoint
from .inference_component import InferenceComponent
from .shared_endpoint import imported_name, imported_role

_SHARED = "The instances serve other models, too, so no price of this one is known."


class ComponentEndpoint(Construct):
    """An endpoint without a model, unless the deployment shares one, and the component that stands on it.

    environment: variables for the functions that call it. outputs: the stack's outputs.
    role, log_group: of its containers. alarms: those that notify, by their ids.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        surroundings: Surroundings,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment, shared = resolution.deployment, resolution.deployment.shared
        self._resolution, self._surroundings = resolution, surroundings
        # Both kinds exist while a deployment changes: nothing says that UpdateEndpoint turns one into the other.
        own_name = f"{surroundings.unique_name}{COMPONENT_ENDPOINT_SUFFIX}"
        self.name = imported_name(shared.name) if shared else own_name
        self._component = component = InferenceComponent(
            self,
            "Component",
            resolution=resolution,
            model_handler=model_handler,
            surroundings=surroundings,
            endpoint_name=self.name,
            endpoint_role=imported_role(self, shared.name) if shared else None,
        )
        self.role, self.log_group = component.served.role, component.served.log_group
        self._own = None if shared else self._create_endpoint(resolution)
        self.environment = {
            "ENDPOINT_NAME": self.name,
            # A shared endpoint's configuration may change without this deployment.
            "ENDPOINT_CONFIGURATION": self._own.configuration.attr_endpoint_config_name if self._own else "",
            "ENDPOINT_URL": url_of(self.name),
            **component.environment,
        }
        # The stack of a shared endpoint has these outputs; cfn-lint wants no import exported again.
        self.outputs = {**({"EndpointName": self.name} if self._own else {}), **component.outputs}
        if self._own and deployment.hosting.detailed_observability:
            self.outputs["EndpointPage"] = page_of(self.name)
        if self._own and deployment.alarms.idle_in_hours:  # instances of a shared endpoint may run for other models
            of_instances = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
            idle = component.add_idle_alarm(
                of_instances, deployment.alarms.idle_in_hours, self._own.configuration.attr_endpoint_config_name
            )
            self.outputs["IdleAlarm"] = idle.alarm_name
        self.alarms = component.alarms
        # The name by which functions count their calls.
        counted = self._own.configuration.attr_endpoint_config_name if self._own else component.name
        component.guard_updates(counted, deployment.hosting, deployment.alarms.error_rate)
        if self._own:
            component.start_after(self._own.endpoint)

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let a principal call this endpoint."""
        self._allow(grantee, "sagemaker:InvokeEndpoint")

    def grant_stream(self, grantee: iam.IGrantable) -> None:
        """Let a principal that may call this endpoint also stream answers."""
        self._allow(grantee, "sagemaker:InvokeEndpointWithResponseStream")

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read the status of the endpoint and of the component."""
        self._allow_endpoint(grantee, "sagemaker:DescribeEndpoint")
        self._component.grant_describe(grantee)

    def grant_wake(self, grantee: iam.IGrantable) -> None:
        """Let a principal ask for a copy of the model."""
        self._component.grant_wake(grantee)

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return self._component.metric_model_latency()

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the component, and of the instances that only it uses."""
        if self._own is None:
            return [*self._component.panels(), Panel(Question.COST, _SHARED)]
        hosting = self._resolution.deployment.hosting
        price = price_of(self, *(each.instance for each in self._resolution.placements))
        of_instances = {"EndpointName": self.name, "VariantName": VARIANT_NAME}
        return [
            *self._component.panels(),
            *instance_panels(of_instances, price, hosting.instance_count.max, self._surroundings),
            engine_panel(page_of(self.name) if hosting.detailed_observability else None),
        ]

    def create_last(self, service: Construct) -> None:
        """Create the endpoint, then the component, after all else of the service."""
        first, *later = [*([self._own.endpoint] if self._own else []), *self._component.after_endpoint]
        create_last(first, service, later=later)

    def _allow(self, grantee: iam.IGrantable, action: str) -> None:
        self._allow_endpoint(grantee, action)
        self._component.grant_invoke(grantee, action)

    def _allow_endpoint(self, grantee: iam.IGrantable, action: str) -> None:
        arn = arn_of("endpoint", self.name)
        iam.Grant.add_to_principal(grantee=grantee, actions=[action], resource_arns=[arn])

    def _create_endpoint(self, resolution: Resolution) -> EmptyEndpoint:
        hosting, served = resolution.deployment.hosting, self._component.served
        made = EmptyEndpoint(
            self,
            name=self.name,
            hosting=hosting,
            least=resolution.deployment.least_instances,
            host_image=resolution.inference_ami_version,
            role=self.role,
            volume_key=served.volume_key,
            network=served.vpc_config,
        )
        served.outlive_replacement(made.configuration)
        served.start_after_preparations(made.endpoint)
        served.tag(made.endpoint)
        return made

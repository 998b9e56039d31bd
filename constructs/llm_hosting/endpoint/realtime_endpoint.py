"""A SageMaker real-time endpoint: it answers each call at once, within 60 s."""

from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..dashboard.panel import Panel
from ..resolution import Resolution
from ..surroundings import Surroundings
from .alarms import FAILED_CALLS, error_panel, realtime_alarms
from .hosted_model import HostedModel
from .instance_panels import in_flight


class RealtimeEndpoint(Construct):
    """A real-time endpoint.

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
        deployment = resolution.deployment
        self._hosted = HostedModel(
            self,
            "Default",  # adds nothing to logical ids
            resolution=resolution,
            model_handler=model_handler,
            surroundings=surroundings,
            alarms=realtime_alarms(deployment.alarms, takes_jobs=deployment.jobs.enabled),
        )
        self.environment, self.outputs = self._hosted.environment, self._hosted.outputs
        self.name, self.role = self._hosted.name, self._hosted.role
        self.log_group, self.alarms = self._hosted.log_group, self._hosted.alarms
        if deployment.hosting.instance_count.is_scaled:
            self._hosted.add_scaling("Scaling").follow_requests_in_flight()

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let a principal call this endpoint."""
        self._hosted.grant(grantee, "sagemaker:InvokeEndpoint")

    def grant_stream(self, grantee: iam.IGrantable) -> None:
        """Let a principal that may call this endpoint also stream answers.

        SageMaker's API reference names InvokeEndpoint only, but IAM's list of actions has one for streams.
        """
        self._hosted.grant(grantee, "sagemaker:InvokeEndpointWithResponseStream")

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read this endpoint's status."""
        self._hosted.grant(grantee, "sagemaker:DescribeEndpoint")

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return self._hosted.metric_model_latency()

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the endpoint."""
        of_model = self._hosted.dimensions
        return [
            error_panel(of_model, FAILED_CALLS),
            *self._hosted.panels(),
            in_flight("ConcurrentRequestsPerModel", of_model),
        ]

    def create_last(self, service: Construct) -> None:
        """Create the endpoint after all else of the service."""
        self._hosted.create_endpoint_last(service)

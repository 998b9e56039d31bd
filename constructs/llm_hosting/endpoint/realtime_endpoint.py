"""A SageMaker real-time endpoint: it answers each call at once, within 60 s."""

from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..deployment.model import Alarms
from ..resolution import Resolution
from ..surroundings import Surroundings
from .alarms import AlarmSpec
from .hosted_model import HostedModel

_LONGEST_CALL = 480 * 1_000_000  # microseconds: SageMaker ends a stream after 8 minutes


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
            alarms=_alarms(deployment.alarms, takes_jobs=deployment.jobs.enabled),
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

    def create_last(self, service: Construct) -> None:
        """Create the endpoint after all else of the service."""
        self._hosted.create_endpoint_last(service)


def _alarms(settings: Alarms, *, takes_jobs: bool) -> tuple[AlarmSpec, ...]:
    """Return the alarms on the shares of 5XX answers and of all errors, and on the 99th percentile of latency.

    Each invocation counts 1 or 0, so that the average is the share, without metric math. A job may take 60 s, so with
    jobs no latency rolls an update back. The alarm exists all the same, because a changed list of alarms alone would be
    an update of the endpoint, with new instances.
    """
    latency = settings.latency_in_seconds * 1_000_000  # microseconds
    average, p99 = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.percentile(99)
    return (
        AlarmSpec("Errors", "Invocation5XXErrors", average, settings.error_rate),
        AlarmSpec("Failures", "InvocationModelErrors", average, settings.failure_rate),
        AlarmSpec(
            "Latency",
            "ModelLatency",
            p99,
            latency,
            rollback_threshold=_LONGEST_CALL if takes_jobs else latency,
        ),
    )

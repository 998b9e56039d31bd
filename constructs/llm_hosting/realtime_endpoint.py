"""A SageMaker real-time endpoint for one model: it answers each call at once, within 60 s."""

from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from .deployment import Alarms, Hosting, Logs, Model
from .endpoint_alarms import Watched
from .hosted_model import HostedModel
from .resolution import Resolution


class RealtimeEndpoint(Construct):
    """`name` and `url` are the endpoint's, `log_group` holds what the container prints."""

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
        handler: Path | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._hosted = HostedModel(
            self,
            "Default",  # adds nothing to logical ids
            model=model,
            hosting=hosting,
            alarms=alarms,
            resolution=resolution,
            log_settings=log_settings,
            handler=handler,
            watched=_watched(alarms),
        )
        self.name, self.url, self.log_group = self._hosted.name, self._hosted.url, self._hosted.log_group
        if hosting.instance_count.is_scaled:
            self._hosted.add_scaling("Scaling").follow_requests_in_flight()

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let a principal call this endpoint."""
        self._hosted.grant(grantee, "sagemaker:InvokeEndpoint")

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read this endpoint's status."""
        self._hosted.grant(grantee, "sagemaker:DescribeEndpoint")


def _watched(settings: Alarms) -> tuple[Watched, ...]:
    """Share of 5XX answers, share of answers other than 2XX, 99th percentile of the model's latency.

    Each invocation counts 1 or 0, so the average is the share; no metric math, which the local cloud lacks.
    """
    average, p99 = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.percentile(99)
    return (
        Watched("Errors", "Invocation5XXErrors", average, settings.error_rate),
        Watched("Failures", "InvocationModelErrors", average, settings.failure_rate),
        Watched("Latency", "ModelLatency", p99, settings.latency_in_seconds * 1_000_000),  # microseconds
    )

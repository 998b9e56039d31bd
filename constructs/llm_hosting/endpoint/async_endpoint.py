"""A SageMaker asynchronous endpoint: it queues jobs, writes results to the job bucket, and can scale to zero."""

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..deployment.model import Alarms, Hosting
from ..jobs.store import JobStore
from ..resolution import Resolution
from .alarms import AlarmSpec
from .hosted_model import HostedModel


class AsyncEndpoint(Construct):
    """An asynchronous endpoint.

    environment: variables for the functions that call it. outputs: the stack's outputs.
    topics: SageMaker announces each successful attempt on the first and each failed one on the second.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        store: JobStore,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        hosting, self._store = deployment.hosting, store
        self.topics = [self._create_topic("Success"), self._create_topic("Failure")]
        self._hosted = HostedModel(
            self,
            "Default",  # adds nothing to logical ids
            resolution=resolution,
            model_handler=model_handler,
            alarms=_alarms(deployment.alarms),
            asynchronous=self._configuration(hosting, store),
        )
        self.environment, self.outputs = self._hosted.environment, self._hosted.outputs
        store.grant_serve(self._hosted.role)
        self._hosted.role.allow_publishing([topic.topic_arn for topic in self.topics])
        if hosting.instance_count.is_scaled:
            scaling = self._hosted.add_scaling("Scaling")
            scaling.follow_backlog()
            if hosting.instance_count.min == 0:
                scaling.wake()

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let a principal invoke this endpoint with an input in the job bucket."""
        self._hosted.grant(grantee, "sagemaker:InvokeEndpointAsync")
        self._store.grant_read_inputs(grantee)

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read this endpoint's status."""
        self._hosted.grant(grantee, "sagemaker:DescribeEndpoint")

    def create_last(self) -> None:
        """Create the endpoint after all else in the stack."""
        self._hosted.create_endpoint_last()

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has been in SageMaker's queue."""
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name="ApproximateAgeOfOldestRequest",
            dimensions_map={"EndpointName": self._hosted.name},
            statistic=cloudwatch.Stats.MAXIMUM,
            period=Duration.minutes(1),
        )

    def _create_topic(self, construct_id: str) -> sns.Topic:
        # Without a KMS key: a message holds no text, only the job, its objects and a status. With a key, announcements
        # would also depend on the key's policy.
        return sns.Topic(self, construct_id, enforce_ssl=True)

    def _configuration(
        self, hosting: Hosting, store: JobStore
    ) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty:
        success, failure = self.topics
        config = sagemaker.CfnEndpointConfig
        return config.AsyncInferenceConfigProperty(
            client_config=config.AsyncInferenceClientConfigProperty(
                max_concurrent_invocations_per_instance=hosting.scaling.concurrent_requests_per_instance
            ),
            output_config=config.AsyncInferenceOutputConfigProperty(
                # With a slash, so that all that SageMaker appends to the path stays below the role's permission.
                s3_output_path=f"{store.location('output')}/",
                s3_failure_path=store.location("failure"),
                notification_config=config.AsyncInferenceNotificationConfigProperty(
                    success_topic=success.topic_arn, error_topic=failure.topic_arn
                ),
            ),
        )


def _alarms(settings: Alarms) -> tuple[AlarmSpec, ...]:
    """Return the alarms on the shares of 5XX and 4XX answers, and on failures between SageMaker, S3, SNS and its queue.

    Names and dimensions: SageMaker Developer Guide, "Alarms and logs for tracking metrics from asynchronous endpoints".
    """
    average = cloudwatch.Stats.AVERAGE
    return (
        AlarmSpec("Errors", "Invocation5XXErrors", average, settings.error_rate),
        AlarmSpec(
            "Failures", "Invocation4XXErrors", average, settings.failure_rate
        ),  # LMI reports its own failures as 424
        *(
            AlarmSpec(name, name, cloudwatch.Stats.SUM, 0, breaching=1)
            for name in ("RequestDownloadFailures", "ResponseUploadFailures", "NotificationFailures", "ExpiredRequests")
        ),
    )

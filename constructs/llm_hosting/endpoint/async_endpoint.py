"""A SageMaker asynchronous endpoint: it queues jobs, writes results to the job bucket, and can scale to zero."""

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..alarm_group import percent
from ..dashboard.panel import Panel, Question, graph, metric
from ..deployment.settings.hosting import Hosting
from ..deployment.settings.operating import Alarms
from ..jobs.store import JobStore
from ..resolution import Resolution
from ..surroundings import Surroundings
from .alarms import AlarmSpec, error_panel, errors_of
from .hosted_model import HostedModel

_LOST_ON_THE_WAY = {
    "RequestDownloadFailures": "SageMaker could not read the input of a job",
    "ResponseUploadFailures": "SageMaker could not write the result of a job",
    "NotificationFailures": "SageMaker could not announce the end of a job",
    "ExpiredRequests": "a job waited in SageMaker's queue until its time was over",
}


class AsyncEndpoint(Construct):
    """An asynchronous endpoint.

    environment: variables for the functions that call it. outputs: the stack's outputs.
    role, log_group: of its containers. alarms: those that notify, by their ids.
    topics: SageMaker announces each successful attempt on the first and each failed one on the second.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        model_handler: Path | None,
        surroundings: Surroundings,
        store: JobStore,
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        hosting, self._store = deployment.hosting, store
        self.topics = [self._create_topic(name, surroundings) for name in ("Success", "Failure")]
        self._hosted = HostedModel(
            self,
            "Default",  # adds nothing to logical ids
            resolution=resolution,
            model_handler=model_handler,
            surroundings=surroundings,
            alarms=_alarms(deployment.alarms),
            asynchronous=self._configuration(hosting, store, surroundings),
        )
        self.environment, self.outputs = self._hosted.environment, self._hosted.outputs
        self.name, self.role = self._hosted.name, self._hosted.role
        self.log_group, self.alarms = self._hosted.log_group, self._hosted.alarms
        store.grant_serve(self._hosted.role)
        self._hosted.role.allow_publishing([topic.topic_arn for topic in self.topics])
        if hosting.instance_count.is_scaled:
            scaling = self._hosted.add_scaling("Scaling")
            scaling.follow_backlog()
            if hosting.instance_count.min == 0:
                scaling.wake(surroundings.runbook_url)

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let a principal invoke this endpoint with an input in the job bucket."""
        self._hosted.grant(grantee, "sagemaker:InvokeEndpointAsync")
        self._store.grant_read_inputs(grantee)

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a principal read this endpoint's status."""
        self._hosted.grant(grantee, "sagemaker:DescribeEndpoint")

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the time that the container takes for an invocation, in microseconds."""
        return self._hosted.metric_model_latency()

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the endpoint."""
        failed = {"Invocation4XXErrors": "answered with 4XX", "Invocation5XXErrors": "answered with 5XX"}
        of_endpoint = {"EndpointName": self.name}
        backlog = metric("AWS/SageMaker", "ApproximateBacklogSizePerInstance", of_endpoint, label="jobs per instance")
        return [
            error_panel(self._hosted.dimensions, failed),
            *self._hosted.panels(),
            Panel(
                Question.FULL,
                "Scaling follows the jobs in SageMaker's queue and in the containers, per instance.",
                [graph("Backlog", backlog, unit="jobs")],
            ),
        ]

    def create_last(self, service: Construct) -> None:
        """Create the endpoint after all else of the service."""
        self._hosted.create_endpoint_last(service)

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has been in SageMaker's queue."""
        return self._metric("ApproximateAgeOfOldestRequest")

    def metric_backlog(self) -> cloudwatch.Metric:
        """Return the number of jobs in SageMaker's queue and in the containers."""
        return self._metric("ApproximateBacklogSize")

    def _metric(self, name: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name=name,
            dimensions_map={"EndpointName": self.name},
            statistic=cloudwatch.Stats.MAXIMUM,
            period=Duration.minutes(1),
        )

    def _create_topic(self, construct_id: str, surroundings: Surroundings) -> sns.Topic:
        # Usually without a key: a message holds no text, only the job, its objects and a status.
        return sns.Topic(self, construct_id, enforce_ssl=True, master_key=surroundings.data_key)

    def _configuration(
        self, hosting: Hosting, store: JobStore, surroundings: Surroundings
    ) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty:
        success, failure = self.topics
        config = sagemaker.CfnEndpointConfig
        return config.AsyncInferenceConfigProperty(
            client_config=config.AsyncInferenceClientConfigProperty(
                max_concurrent_invocations_per_instance=hosting.scaling.concurrent_requests_per_instance
            ),
            output_config=config.AsyncInferenceOutputConfigProperty(
                kms_key_id=surroundings.data_key and surroundings.data_key.key_arn,
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
    return (
        errors_of(settings),
        AlarmSpec(
            "Failures",
            "Invocation4XXErrors",  # LMI reports its own failures as 424
            cloudwatch.Stats.AVERAGE,
            settings.failure_rate,
            f"more than {percent(settings.failure_rate)} of the model's answers were 4XX",
        ),
        *(
            AlarmSpec(name, name, cloudwatch.Stats.SUM, 0, means, breaching=1)
            for name, means in _LOST_ON_THE_WAY.items()
        ),
    )

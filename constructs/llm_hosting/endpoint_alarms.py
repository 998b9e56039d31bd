"""Alarms on the answers of a SageMaker endpoint."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from .deployment import Alarms


class EndpointAlarms(Construct):
    """Share of 5XX answers, share of answers other than 2XX, 99th percentile of the model's latency.

    dimensions: `EndpointName` and `VariantName`; with `EndpointConfigName` the alarms see one fleet of an update only.
    """

    def __init__(self, scope: Construct, construct_id: str, *, dimensions: dict[str, str], settings: Alarms) -> None:
        super().__init__(scope, construct_id)
        self._dimensions = dimensions
        average, p99 = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.percentile(99)
        # Each invocation counts 1 or 0, so the average is the share; no metric math, which the local cloud lacks.
        self.alarms = [
            self._alarm("Errors", "Invocation5XXErrors", average, settings.error_rate),
            self._alarm("Failures", "InvocationModelErrors", average, settings.failure_rate),
            self._alarm("Latency", "ModelLatency", p99, settings.latency_in_seconds * 1_000_000),  # microseconds
        ]

    def notify(self, topic_arn: str) -> None:
        """Tell an SNS topic when an alarm goes off and when it is over."""
        action = actions.SnsAction(sns.Topic.from_topic_arn(self, "Topic", topic_arn))
        for alarm in self.alarms:
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)

    def _alarm(self, construct_id: str, metric_name: str, statistic: str, threshold: float) -> cloudwatch.Alarm:
        metric = cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name=metric_name,
            dimensions_map=self._dimensions,
            statistic=statistic,
            period=Duration.minutes(1),
        )
        return cloudwatch.Alarm(
            self,
            construct_id,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=3,
            datapoints_to_alarm=2,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

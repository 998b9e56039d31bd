"""Alarms on a SageMaker endpoint, which also roll a bad update back."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from .deployment import Alarms


class EndpointAlarms(Construct):
    """One alarm on the share of 5XX answers, one on the 99th percentile of the model's latency."""

    def __init__(
        self, scope: Construct, construct_id: str, *, endpoint_name: str, variant_name: str, settings: Alarms
    ) -> None:
        super().__init__(scope, construct_id)
        dimensions = {"EndpointName": endpoint_name, "VariantName": variant_name}
        # Each invocation counts 1 or 0, so that the average is the share; no metric math, which the local cloud lacks.
        errors = _metric("Invocation5XXErrors", cloudwatch.Stats.AVERAGE, dimensions)
        latency = _metric("ModelLatency", cloudwatch.Stats.percentile(99), dimensions)
        microseconds = settings.latency_in_seconds * 1_000_000
        self.alarms = [
            _alarm(self, "Errors", errors, settings.error_rate, "Share of invocations answered with 5XX"),
            _alarm(self, "Latency", latency, microseconds, "99th percentile of the model's latency, in microseconds"),
        ]
        if settings.topic_arn:
            action = actions.SnsAction(sns.Topic.from_topic_arn(self, "Topic", settings.topic_arn))
            for alarm in self.alarms:
                alarm.add_alarm_action(action)
                alarm.add_ok_action(action)


def _metric(name: str, statistic: str, dimensions: dict[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/SageMaker",
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.minutes(1),
    )


def _alarm(
    scope: Construct, construct_id: str, metric: cloudwatch.Metric, threshold: float, description: str
) -> cloudwatch.Alarm:
    return cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric,
        threshold=threshold,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=3,
        datapoints_to_alarm=2,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )

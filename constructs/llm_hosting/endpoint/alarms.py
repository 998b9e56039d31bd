"""Alarms on the metrics of a SageMaker endpoint."""

from collections.abc import Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..alarm_group import AlarmGroup
from ..deployment.settings.operating import Alarms

_NAMESPACE = "AWS/SageMaker"
CALLS_OF_FUNCTIONS = ("Slipway", "ModelTimeouts")  # each call counts 1 or 0, by EndpointConfigName
_NEARLY_ALL = 0.99
_LONGEST_CALL = 480 * 1_000_000  # microseconds: SageMaker ends a stream after 8 minutes


class AlarmSpec(NamedTuple):
    """An alarm that goes off when `breaching` of the last three minutes are above the threshold.

    rollback_threshold: above it the alarm also rolls an update back; None for a metric that callers can raise.
    """

    construct_id: str
    metric_name: str
    statistic: str
    threshold: float
    breaching: int = 2
    rollback_threshold: float | None = None


class EndpointAlarms(AlarmGroup):
    """The alarms of an endpoint.

    dimensions: `EndpointName` and `VariantName`; of a component `InferenceComponentName` alone. With
    `EndpointConfigName` the alarms see only the instances of that configuration during an update.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        dimensions: dict[str, str],
        specs: Sequence[AlarmSpec],
        topic: sns.ITopic | None,
    ) -> None:
        super().__init__(scope, construct_id, topic=topic)
        for spec in specs:
            metric = cloudwatch.Metric(
                namespace=_NAMESPACE,
                metric_name=spec.metric_name,
                dimensions_map=dimensions,
                statistic=spec.statistic,
                period=Duration.minutes(1),
            )
            self.add(spec.construct_id, metric, spec.threshold, periods=3, breaching=spec.breaching)

    def add_idle(
        self,
        of_calls: dict[str, str],
        of_instances: dict[str, str],
        hours: int,
        *,
        counted_by: tuple[str, str] = (_NAMESPACE, "ModelLatency"),
    ) -> cloudwatch.Alarm:
        """Add an alarm that goes off when instances have run for this many hours without a request.

        of_calls, of_instances: the dimensions of the metrics of requests, and of those of instances. counted_by:
        namespace and name of a metric with a value for each request.
        Real-time and asynchronous endpoints have both metrics. Without requests or instances a metric has no data.
        """
        count, hour = cloudwatch.Stats.SAMPLE_COUNT, Duration.hours(1)
        metrics = {
            "calls": (*counted_by, of_calls),
            "running": ("/aws/sagemaker/Endpoints", "CPUUtilization", of_instances),
        }
        idle = cloudwatch.MathExpression(
            expression="IF(running > 0 AND FILL(calls, 0) < 1, 1, 0)",
            period=hour,
            using_metrics={
                name: cloudwatch.Metric(
                    namespace=namespace, metric_name=metric, dimensions_map=dimensions, statistic=count, period=hour
                )
                for name, (namespace, metric, dimensions) in metrics.items()
            },
        )
        return self.add("Idle", idle, 0, periods=hours, breaching=hours)

    def add_model_failures(self, configuration: str, error_rate: float) -> None:
        """Add alarms on failed calls of one configuration, as the functions count them (`deployed_engine.count_call`).

        SageMaker's own shares of 4XX and 5XX include callers' mistakes, which LMI answers with 424 and 500. A timeout
        may be one, too: an update rolls back only if no call is answered in time for three minutes.
        """
        for name, most, breaching in (("ModelFailures", error_rate, 2), ("ModelTimeouts", _NEARLY_ALL, 3)):
            metric = cloudwatch.Metric(
                namespace="Slipway",
                metric_name=name,
                dimensions_map={"EndpointConfigName": configuration},
                statistic=cloudwatch.Stats.AVERAGE,
                period=Duration.minutes(1),
            )
            self.add(name, metric, most, periods=3, breaching=breaching)


def realtime_alarms(settings: Alarms, *, takes_jobs: bool) -> tuple[AlarmSpec, ...]:
    """Return a real-time endpoint's alarms: on the shares of 5XX answers and of all errors, and on the p99 of latency.

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


def model_latency(dimensions: dict[str, str]) -> cloudwatch.Metric:
    """Return the time that a container takes for an invocation, in microseconds."""
    return cloudwatch.Metric(
        namespace=_NAMESPACE,
        metric_name="ModelLatency",
        dimensions_map=dimensions,
        statistic=cloudwatch.Stats.percentile(99),
        period=Duration.minutes(1),
    )

"""Alarms on the metrics of a SageMaker endpoint."""

from collections.abc import Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..alarm_group import AlarmGroup

_NAMESPACE = "AWS/SageMaker"
_NEARLY_ALL = 0.99


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

    dimensions: `EndpointName` and `VariantName`. With `EndpointConfigName` the alarms see only the instances of that
    configuration during an update.
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

    def add_idle(self, dimensions: dict[str, str], hours: int) -> cloudwatch.Alarm:
        """Add an alarm that goes off when instances have run for this many hours without a request.

        Real-time and asynchronous endpoints have both metrics. Without requests or instances a metric has no data.
        """
        count, hour = cloudwatch.Stats.SAMPLE_COUNT, Duration.hours(1)
        metrics = {"calls": (_NAMESPACE, "ModelLatency"), "running": ("/aws/sagemaker/Endpoints", "CPUUtilization")}
        idle = cloudwatch.MathExpression(
            expression="IF(running > 0 AND FILL(calls, 0) < 1, 1, 0)",
            period=hour,
            using_metrics={
                name: cloudwatch.Metric(
                    namespace=namespace, metric_name=metric, dimensions_map=dimensions, statistic=count, period=hour
                )
                for name, (namespace, metric) in metrics.items()
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

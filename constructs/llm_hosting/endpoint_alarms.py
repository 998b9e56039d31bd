"""Alarms on the metrics of a SageMaker endpoint."""

from collections.abc import Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .alarm_group import AlarmGroup

NAMESPACE = "AWS/SageMaker"


class AlarmSpec(NamedTuple):
    """An alarm that goes off when `breaching` of the last three minutes are above the threshold.

    rolls_back: whether it takes a bad update back, too.
    """

    construct_id: str
    metric_name: str
    statistic: str
    threshold: float
    breaching: int = 2
    rolls_back: bool = True


class EndpointAlarms(AlarmGroup):
    """dimensions: `EndpointName` and `VariantName`; with `EndpointConfigName` the alarms see only one of the two fleets
    of an update.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        dimensions: dict[str, str],
        specs: Sequence[AlarmSpec],
        topic_arn: str | None,
    ) -> None:
        super().__init__(scope, construct_id, topic_arn=topic_arn)
        for spec in specs:
            metric = cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=spec.metric_name,
                dimensions_map=dimensions,
                statistic=spec.statistic,
                period=Duration.minutes(1),
            )
            self.add(spec.construct_id, metric, spec.threshold, periods=3, breaching=spec.breaching)

    def add_idle(self, load: str, dimensions: dict[str, str], hours: int) -> None:
        """An alarm that goes off when instances have run for so many hours without a request.

        load: a metric that SageMaker puts while instances run, 0 without requests. Not the count of invocations: it has
        no data then, and an alarm that takes missing data for a breach is on from the first minute.
        """
        metric = cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=load,
            dimensions_map=dimensions,
            statistic=cloudwatch.Stats.MAXIMUM,
            period=Duration.hours(1),
        )
        at_most = cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
        self.add("Idle", metric, 0, periods=hours, breaching=hours, comparison=at_most)

"""Alarms on the metrics of a SageMaker endpoint."""

from collections.abc import Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .alarm_group import AlarmGroup


class AlarmSpec(NamedTuple):
    """An alarm on a metric of the endpoint.

    rolls_back: whether it rolls an update back, too; no for a metric that callers can raise.
    """

    construct_id: str
    metric_name: str
    statistic: str
    threshold: float
    rolls_back: bool = False


class EndpointAlarms(AlarmGroup):
    """Each goes off when two of three minutes are above its threshold.

    dimensions: `EndpointName` and `VariantName`; with `EndpointConfigName` the alarms see only one of the two fleets of
    an update.
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
                namespace="AWS/SageMaker",
                metric_name=spec.metric_name,
                dimensions_map=dimensions,
                statistic=spec.statistic,
                period=Duration.minutes(1),
            )
            self.add(spec.construct_id, metric, spec.threshold, periods=3, breaching=2)

    def add_model_failures(self, construct_id: str, configuration: str, threshold: float) -> None:
        """On the share of calls that a fleet failed, as the functions count them (`deployed_engine.count_call`).

        SageMaker's shares of 4XX and 5XX hold mistakes of callers as well: LMI answers them with 424 and 500.
        """
        metric = cloudwatch.Metric(
            namespace="Slipway",
            metric_name="ModelFailures",
            dimensions_map={"EndpointConfigName": configuration},
            statistic=cloudwatch.Stats.AVERAGE,
            period=Duration.minutes(1),
        )
        self.add(construct_id, metric, threshold, periods=3, breaching=2)

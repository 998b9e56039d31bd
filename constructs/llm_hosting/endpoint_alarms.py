"""Alarms on the answers of a SageMaker endpoint."""

from collections.abc import Sequence
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .alarm_group import AlarmGroup


class Watched(NamedTuple):
    """A metric of the endpoint, a statistic of it, and the value above which the endpoint is unwell."""

    construct_id: str
    metric_name: str
    statistic: str
    threshold: float


class EndpointAlarms(AlarmGroup):
    """Go off when two of three minutes are above a threshold.

    dimensions: `EndpointName` and `VariantName`; with `EndpointConfigName` the alarms see one fleet of an update only.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, dimensions: dict[str, str], watched: Sequence[Watched]
    ) -> None:
        super().__init__(scope, construct_id)
        for each in watched:
            metric = cloudwatch.Metric(
                namespace="AWS/SageMaker",
                metric_name=each.metric_name,
                dimensions_map=dimensions,
                statistic=each.statistic,
                period=Duration.minutes(1),
            )
            self.add(each.construct_id, metric, each.threshold, periods=3, breaching=2)

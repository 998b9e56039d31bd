"""A panel: what a construct shows under one question of a dashboard, with a sentence that explains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from .expressions import level

WIDTH, HEIGHT = 8, 6  # three widgets in a row of 24 columns
_HALF = 12

_PERCENTILES = ("p50", "p90", "p99")


class Question(Enum):
    """The questions, in the order of the dashboard."""

    UP = "Is it up?"
    FAST = "Is it fast?"
    FULL = "Is it full?"
    JOBS = "How are jobs and batches?"
    COST = "What does it cost?"
    WHO = "Who uses it?"


@dataclass(frozen=True)
class Panel:
    """Widgets under a question. sentence: what they show, and how to read it."""

    question: Question
    sentence: str
    widgets: Sequence[cloudwatch.IWidget] = ()


def metric(
    namespace: str, name: str, dimensions: dict[str, str], statistic: str = "Average", label: str | None = None
) -> cloudwatch.Metric:
    """Return a metric. Its period follows the time that the dashboard shows."""
    return cloudwatch.Metric(
        namespace=namespace, metric_name=name, dimensions_map=dimensions, statistic=statistic, label=label
    )


def graph(title: str, *metrics: cloudwatch.IMetric, unit: str = "", stacked: bool = False) -> cloudwatch.GraphWidget:
    """Return lines over time, from 0 on. unit: what the axis counts."""
    axis = cloudwatch.YAxisProps(min=0, label=unit or None, show_units=False)
    return cloudwatch.GraphWidget(
        title=title, left=list(metrics), left_y_axis=axis, stacked=stacked, width=WIDTH, height=HEIGHT
    )


def figures(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.SingleValueWidget:
    """Return one number for each metric, over the whole time that the dashboard shows."""
    return cloudwatch.SingleValueWidget(
        title=title, metrics=list(metrics), set_period_to_time_range=True, width=WIDTH, height=HEIGHT
    )


def percentiles(measured: cloudwatch.Metric) -> list[cloudwatch.Metric]:
    """Return the median, the 90th and the 99th percentile of a metric."""
    return [of(measured, each, each) for each in _PERCENTILES]


def of(measured: cloudwatch.Metric, statistic: str, label: str) -> cloudwatch.Metric:
    """Return a metric with another statistic and label. Its period follows the time that the dashboard shows."""
    return measured.with_(statistic=statistic, label=label, period=cdk.Duration.minutes(5))


def math(label: str, expression: str, **metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    """Return an expression over metrics by their names in it."""
    return cloudwatch.MathExpression(expression=expression, using_metrics=metrics, label=label)


def constant(label: str, value: int) -> cloudwatch.MathExpression:
    """Return a level line."""
    return math(label, level(value))


def query(title: str, log_groups: Sequence[str], *commands: str) -> cloudwatch.LogQueryWidget:
    """Return the table that a query of log groups answers. CloudWatch asks it each time the dashboard is refreshed."""
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=list(log_groups),
        query_lines=list(commands),
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=_HALF,
        height=HEIGHT,
    )

"""Reads many metrics of CloudWatch with few calls."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from slipway.hosting.meter import Metric

Series = dict[datetime, float]  # values by the first moment of their period

# CloudWatch keeps periods of five minutes for 63 days, and hours for 455 days.
FINE, COARSE, DAY = timedelta(minutes=5), timedelta(hours=1), timedelta(days=1)
_FINE_IS_KEPT = timedelta(days=62)
_MOST_QUERIES = 500  # of one call


class Question(NamedTuple):
    """One statistic of a metric, such as `Sum`, in periods of this length."""

    metric: Metric
    statistic: str
    period: timedelta = DAY


def finest_period(begun: datetime, now: datetime) -> timedelta:
    """Return the shortest period that CloudWatch still has for the whole time since `begun`."""
    return FINE if now - begun < _FINE_IS_KEPT else COARSE


def answers(questions: Sequence[Question], begun: datetime, ended: datetime, cloudwatch: Any) -> list[Series]:
    """Return the values of each question's metric. A period without data has no value."""
    found: list[Series] = [{} for _ in questions]
    if ended <= begun:
        return found
    queries = [_query(number, each) for number, each in enumerate(questions)]
    for start in range(0, len(queries), _MOST_QUERIES):
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=queries[start : start + _MOST_QUERIES], StartTime=begun, EndTime=ended
        )
        for result in (each for page in pages for each in page["MetricDataResults"]):
            found[int(result["Id"][1:])].update(zip(result["Timestamps"], result["Values"], strict=True))
    return found


def _query(number: int, question: Question) -> dict[str, Any]:
    namespace, name, dimensions = question.metric
    return {
        "Id": f"m{number}",
        "MetricStat": {
            "Metric": {
                "Namespace": namespace,
                "MetricName": name,
                "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
            },
            "Period": int(question.period.total_seconds()),
            "Stat": question.statistic,
        },
    }

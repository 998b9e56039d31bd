"""CloudWatch: repairs where MiniStack differs. Alarms use their own dimensions and periods, on the cloud's clock."""

import itertools
import time
from collections import defaultdict
from typing import Any

from local_cloud.emulator.alarms.metric_math import UnknownMathError, value_of
from local_cloud.emulator.core import clock, ministack

_cloudwatch = ministack.internals(
    "ministack.services.cloudwatch",
    "_alarms",
    "_calc_stats",
    "_dims_key",
    "_dispatch_alarm_actions",
    "_evaluate_alarm",
    "_evaluate_all_alarms",
    "_evaluate_parent_alarms",
    "_metrics",
    "_record_history",
    "_stat_value",
    "first_alarm_time",
    "record_metric",
)

_provisioners = ministack.internals("ministack.services.cloudformation.provisioners", "_cw_metric_alarm_record")

_EVALUATION_INTERVAL_IN_SECONDS = 10
# A datum of a periodic chore may come a moment early or late and still counts for its period.
_JITTER_IN_SECONDS = 0.5
_BREACHES = {
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


def record_metrics(namespace: str, dimensions: dict[str, str], values: dict[str, tuple[float, str]]) -> None:
    """Store one datum for each metric; values: metric name -> (value, unit)."""
    for name, (value, unit) in values.items():
        _cloudwatch.record_metric(namespace, name, value, unit, dimensions)


def known_alarms() -> set[str]:
    return set(_cloudwatch._alarms)


def alarms_that_are_on() -> list[dict[str, Any]]:
    return [alarm for alarm in _cloudwatch._alarms.values() if alarm["StateValue"] == "ALARM"]


def alarm_was_on(name: str, since: float) -> bool:
    """Whether the alarm was in state ALARM at any moment since `since`, in seconds of time.time()."""
    arn = f"arn:aws:cloudwatch:{ministack.region()}:{ministack.account_id()}:alarm:{name}"
    return _cloudwatch.first_alarm_time(arn, since, time.time()) is not None


def values_of_periods(metric: dict[str, Any], period: float, count: int) -> list[float | None]:
    """The metric's statistic in each of its last periods, newest first, None for a period without data.

    metric: an alarm, or a metric and its statistic under the same names; period: seconds of AWS.
    """
    period = clock.shortened(period)
    now = time.time() + min(_JITTER_IN_SECONDS, period / 4)
    by_age: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for point in _points_since(metric, now - period * count):
        by_age[int((now - point["Timestamp"]) / period)].append(point)
    return [_statistic_of(metric, by_age[periods_ago]) for periods_ago in range(count)]


def _points_since(metric: dict[str, Any], since: float) -> list[dict[str, Any]]:
    dimensions = _cloudwatch._dims_key({item["Name"]: item["Value"] for item in metric.get("Dimensions") or []})
    points = _cloudwatch._metrics.get((metric["Namespace"], metric["MetricName"], dimensions), [])
    return list(itertools.takewhile(lambda point: point["Timestamp"] > since, reversed(points)))


def _statistic_of(metric: dict[str, Any], points: list[dict[str, Any]]) -> float | None:
    name = metric.get("ExtendedStatistic") or metric.get("Statistic", "Average")
    value: float | None = _cloudwatch._stat_value(_cloudwatch._calc_stats(points), name, points) if points else None
    return value


def alarm_state(alarm: dict[str, Any], values: list[float | None]) -> str:
    """OK, ALARM or INSUFFICIENT_DATA, from one value for each evaluation period, None for a period without data."""
    missing = alarm.get("TreatMissingData", "missing")
    if all(value is None for value in values) and missing in ("missing", "ignore"):
        return "INSUFFICIENT_DATA" if missing == "missing" else str(alarm["StateValue"])
    breaching = sum(_is_breaching(alarm, value, missing) for value in values)
    return "ALARM" if breaching >= alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"]) else "OK"


def _is_breaching(alarm: dict[str, Any], value: float | None, missing: str) -> bool:
    if value is None:
        return missing == "breaching"
    return bool(_BREACHES[alarm["ComparisonOperator"]](value, alarm["Threshold"]))


def _values_of(alarm: dict[str, Any]) -> list[float | None]:
    """A value for each evaluation period, newest first. Raises UnknownMathError if a part is not emulated."""
    if "MetricName" in alarm:
        return values_of_periods(alarm, alarm["Period"], alarm["EvaluationPeriods"])
    (expression,) = (each["Expression"] for each in alarm["Metrics"] if "Expression" in each)
    series = {}
    for each in alarm["Metrics"]:
        if stat := each.get("MetricStat"):
            metric = stat["Metric"] | {"Statistic": stat["Stat"]}
            series[each["Id"]] = values_of_periods(metric, float(stat["Period"]), alarm["EvaluationPeriods"])
    moments = range(alarm["EvaluationPeriods"])
    return [value_of(expression, {name: values[ago] for name, values in series.items()}) for ago in moments]


def _evaluate(alarm: dict[str, Any]) -> None:
    try:
        values = _values_of(alarm)
    except UnknownMathError:
        return
    before, state = alarm["StateValue"], alarm_state(alarm, values)
    if state != before:
        reason = f"Values of the last periods, newest first: {values}; threshold {alarm['Threshold']}."
        alarm.update({"StateValue": state, "StateReason": reason, "StateUpdatedTimestamp": int(time.time())})
        _cloudwatch._record_history(alarm["AlarmName"], before, state, reason)
        _cloudwatch._dispatch_alarm_actions(alarm, before, state, reason)
        _cloudwatch._evaluate_parent_alarms(alarm)


def _evaluate_all() -> None:
    for account, region in {(account, region) for account, region, _ in ministack.in_all_scopes(_cloudwatch._alarms)}:
        with ministack.scope(account, region):
            _cloudwatch._evaluate_all_alarms()


def _keep_metric_math() -> None:
    """Accept alarms of metric math in templates, which MiniStack refuses."""
    record_of = _provisioners._cw_metric_alarm_record

    def record(name: str, properties: dict[str, Any]) -> dict[str, Any]:
        if not properties.get("Metrics"):
            return dict(record_of(name, properties))
        plain = {member: value for member, value in properties.items() if member != "Metrics"}
        alarm = dict(record_of(name, plain | {"MetricName": "-", "Namespace": "-"}))
        del alarm["MetricName"], alarm["Namespace"]
        return alarm | {"Metrics": properties["Metrics"]}

    _provisioners._cw_metric_alarm_record = record


def install() -> None:
    _keep_metric_math()
    _cloudwatch._evaluate_alarm = _evaluate
    clock.repeat(_evaluate_all, clock.shortened(_EVALUATION_INTERVAL_IN_SECONDS))

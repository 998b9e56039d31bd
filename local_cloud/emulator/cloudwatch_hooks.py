"""The hooks into the emulator's CloudWatch: metrics, and how alarms change their state and act."""

import itertools
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import ministack

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


def record_metrics(namespace: str, dimensions: dict[str, str], values: dict[str, tuple[float, str]]) -> None:
    """Store one datum for each metric: its name -> (value, unit)."""
    for name, (value, unit) in values.items():
        _cloudwatch.record_metric(namespace, name, value, unit, dimensions)


def known_alarms() -> set[str]:
    return set(_cloudwatch._alarms)


def alarms_that_are_on() -> list[dict[str, Any]]:
    return [alarm for alarm in _cloudwatch._alarms.values() if alarm["StateValue"] == "ALARM"]


def alarm_was_on(name: str, since: float) -> bool:
    """Whether the alarm was in state ALARM at any moment from `since` (seconds of the epoch) until now."""
    arn = f"arn:aws:cloudwatch:{ministack.region()}:{ministack.account_id()}:alarm:{name}"
    return _cloudwatch.first_alarm_time(arn, since, time.time()) is not None


def replace_alarm_evaluation(evaluate: Callable[[dict[str, Any]], None]) -> None:
    """Evaluate an alarm this way wherever the emulator does it."""
    _cloudwatch._evaluate_alarm = evaluate


def evaluate_alarms() -> None:
    """Those of every account and region."""
    for account, region in {(account, region) for account, region, _ in ministack.in_all_scopes(_cloudwatch._alarms)}:
        with ministack.scope(account, region):
            _cloudwatch._evaluate_all_alarms()


def recent_points(metric: dict[str, Any], since: float) -> list[dict[str, Any]]:
    """The data of an alarm's metric, or of one that is given likewise, from `since` on, the newest first."""
    dimensions = _cloudwatch._dims_key({item["Name"]: item["Value"] for item in metric.get("Dimensions") or []})
    points = _cloudwatch._metrics.get((metric["Namespace"], metric["MetricName"], dimensions), [])
    return list(itertools.takewhile(lambda point: point["Timestamp"] > since, reversed(points)))


def statistic_of(metric: dict[str, Any], points: list[dict[str, Any]]) -> float | None:
    """The statistic that the alarm or metric asks for, None without data."""
    name = metric.get("ExtendedStatistic") or metric.get("Statistic", "Average")
    value: float | None = _cloudwatch._stat_value(_cloudwatch._calc_stats(points), name, points) if points else None
    return value


def change_alarm_state(alarm: dict[str, Any], state: str, reason: str) -> None:
    before = alarm["StateValue"]
    alarm.update({"StateValue": state, "StateReason": reason, "StateUpdatedTimestamp": int(time.time())})
    _cloudwatch._record_history(alarm["AlarmName"], before, state, reason)
    _cloudwatch._dispatch_alarm_actions(alarm, before, state, reason)
    _cloudwatch._evaluate_parent_alarms(alarm)

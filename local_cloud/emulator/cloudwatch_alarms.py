"""CloudWatch alarms by their own dimensions and periods, which the emulator does not look at."""

import time
from collections import defaultdict
from typing import Any

from local_cloud.emulator import clock, cloudwatch_hooks, ministack
from local_cloud.emulator.alarm_state import alarm_state

_EVALUATION_INTERVAL_IN_SECONDS = 10
# What is put by the clock may come a moment late, and its period must not look empty until then.
_LATE_DATA_IN_SECONDS = 0.5


def values_of_periods(metric: dict[str, Any], period: float, count: int, now: float) -> list[float | None]:
    """The metric's statistic in each of its last periods, the newest first, None where there was no data.

    metric: an alarm, or what names a metric and its statistic likewise; period: seconds of AWS; now: of the epoch.
    """
    period = clock.shortened(period)
    now -= min(_LATE_DATA_IN_SECONDS, period / 4)
    by_age: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for point in cloudwatch_hooks.recent_points(metric, now - period * count):
        by_age[int((now - point["Timestamp"]) / period)].append(point)
    return [cloudwatch_hooks.statistic_of(metric, by_age[periods_ago]) for periods_ago in range(count)]


def _evaluate(alarm: dict[str, Any]) -> None:
    if "MetricName" not in alarm:
        return
    now = time.time()
    if alarm["StateValue"] == "ALARM" and now < alarm["StateUpdatedTimestamp"] + 1 + clock.shortened(alarm["Period"]):
        return  # An alarm stays on for a period, so that whoever waits for it sees it.
    values = values_of_periods(alarm, alarm["Period"], alarm["EvaluationPeriods"], now)
    state = alarm_state(alarm, values)
    if state != alarm["StateValue"]:
        reason = f"Values of the last periods, newest first: {values}; threshold {alarm['Threshold']}."
        cloudwatch_hooks.change_alarm_state(alarm, state, reason)


def install() -> None:
    cloudwatch_hooks.replace_alarm_evaluation(_evaluate)
    ministack.repeat(cloudwatch_hooks.evaluate_alarms, clock.shortened(_EVALUATION_INTERVAL_IN_SECONDS))

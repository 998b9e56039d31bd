"""CloudWatch alarms by their own dimensions and periods, which the emulator does not look at."""

import time
from typing import Any

from local_cloud.emulator import clock, cloudwatch_hooks
from local_cloud.emulator.alarm_state import alarm_state


def _evaluate(alarm: dict[str, Any]) -> None:
    if "MetricName" not in alarm:
        return
    period, now = clock.shortened(alarm["Period"]), time.time()
    if alarm["StateValue"] == "ALARM" and now < alarm["StateUpdatedTimestamp"] + 1 + period:
        return  # An alarm stays on for a period, so that whoever waits for it sees it.
    points = cloudwatch_hooks.recent_points(alarm, now - period * alarm["EvaluationPeriods"])
    ages = [(int((now - point["Timestamp"]) / period), point) for point in points]
    values = [
        cloudwatch_hooks.statistic_of(alarm, [point for age, point in ages if age == period_ago])
        for period_ago in range(alarm["EvaluationPeriods"])
    ]
    state = alarm_state(alarm, values)
    if state != alarm["StateValue"]:
        reason = f"Values of the last periods, newest first: {values}; threshold {alarm['Threshold']}."
        cloudwatch_hooks.change_alarm_state(alarm, state, reason)


def install() -> None:
    cloudwatch_hooks.replace_alarm_evaluation(_evaluate)

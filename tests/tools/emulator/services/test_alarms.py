"""CloudWatch alarms change state by the last periods of their metric."""

from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, create, resource

NAMESPACE = "Test/Alarms"


class Alarm:
    """An alarm on its own metric: two of three minutes at 5 or more."""

    def __init__(self, cloud: LocalCloud, name: str, **properties: Any) -> None:
        self.name, self._cloud = name, cloud
        self._cloudwatch = cloud.client("cloudwatch", region=REGION)
        alarm = {
            "AlarmName": name,
            "MetricName": name,
            "Namespace": NAMESPACE,
            "Statistic": "Maximum",
            "Period": 60,
            "EvaluationPeriods": 3,
            "DatapointsToAlarm": 2,
            "Threshold": 5,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
        }
        create(cloud, name, {"Alarm": resource("CloudWatch::Alarm", alarm | properties)})

    def after(self, *values: float | None) -> str:
        """The state after one minute with each of these values, None for a minute without data."""
        for value in values:
            # Data in the middle of a period: it does not matter when exactly the alarm is evaluated.
            self._cloud.advance(30)
            if value is not None:
                data = [{"MetricName": self.name, "Value": value}]
                self._cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)
            self._cloud.advance(30)
        (found,) = self._cloudwatch.describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return str(found["StateValue"])


def test_enough_breaching_periods_raise_an_alarm_and_it_ends_with_them(bare_cloud: LocalCloud) -> None:
    alarm = Alarm(bare_cloud, "two-of-three")
    assert alarm.after(4, 4.9, 5) == "OK"
    assert alarm.after(5) == "ALARM"
    assert alarm.after(4) == "ALARM"
    assert alarm.after(4) == "OK"


def test_every_period_must_breach_when_the_alarm_does_not_say_how_many(bare_cloud: LocalCloud) -> None:
    alarm = Alarm(bare_cloud, "three-of-three", DatapointsToAlarm=3)
    assert alarm.after(5, 5) == "OK"
    assert alarm.after(5) == "ALARM"


@pytest.mark.parametrize(
    ("treatment", "state"),
    [("notBreaching", "OK"), ("breaching", "ALARM"), ("missing", "INSUFFICIENT_DATA"), ("ignore", "ALARM")],
)
def test_periods_without_data_count_as_the_alarm_says(bare_cloud: LocalCloud, treatment: str, state: str) -> None:
    alarm = Alarm(bare_cloud, f"missing-{treatment}", TreatMissingData=treatment, DatapointsToAlarm=1)
    assert alarm.after(9) == "ALARM"
    assert alarm.after(None, None, None) == state

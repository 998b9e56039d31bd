import pytest

from local_cloud.emulator.alarm_state import alarm_state

ALARM = {
    "StateValue": "OK",
    "EvaluationPeriods": 3,
    "DatapointsToAlarm": 2,
    "Threshold": 5.0,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    "TreatMissingData": "notBreaching",
}


def test_enough_breaching_periods_raise_the_alarm() -> None:
    assert alarm_state(ALARM, [5.0, 0.0, 9.0]) == "ALARM"


def test_too_few_breaching_periods_leave_it_ok() -> None:
    assert alarm_state(ALARM, [5.0, 4.9, None]) == "OK"


def test_every_period_must_breach_when_the_alarm_does_not_say_how_many() -> None:
    alarm = {name: value for name, value in ALARM.items() if name != "DatapointsToAlarm"}
    assert alarm_state(alarm, [5.0, 5.0, 4.0]) == "OK"
    assert alarm_state(alarm, [5.0, 5.0, 5.0]) == "ALARM"


@pytest.mark.parametrize(
    ("treatment", "state"),
    [("notBreaching", "OK"), ("breaching", "ALARM"), ("missing", "INSUFFICIENT_DATA"), ("ignore", "OK")],
)
def test_periods_without_data_count_as_the_alarm_says(treatment: str, state: str) -> None:
    assert alarm_state(ALARM | {"TreatMissingData": treatment}, [None, None, None]) == state

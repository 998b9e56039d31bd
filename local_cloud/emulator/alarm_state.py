"""The state that a CloudWatch alarm takes from the values of its last periods."""

from typing import Any

_BREACHES = {
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


def alarm_state(alarm: dict[str, Any], values: list[float | None]) -> str:
    """OK, ALARM or INSUFFICIENT_DATA from one value for each evaluation period, None where there was no data."""
    missing = alarm.get("TreatMissingData", "missing")
    if all(value is None for value in values) and missing in ("missing", "ignore"):
        return "INSUFFICIENT_DATA" if missing == "missing" else str(alarm["StateValue"])
    breaching = sum(_breaches(alarm, value, missing) for value in values)
    return "ALARM" if breaching >= alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"]) else "OK"


def _breaches(alarm: dict[str, Any], value: float | None, missing: str) -> bool:
    if value is None:
        return missing == "breaching"
    return bool(_BREACHES[alarm["ComparisonOperator"]](value, alarm["Threshold"]))

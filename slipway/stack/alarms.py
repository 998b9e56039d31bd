"""The alarms of a deployment's stack."""

from dataclasses import dataclass

from slipway.stack.deployed_stack import DeployedStack

_MOST_NAMES = 100  # the limit of one DescribeAlarms call
_TYPES = {"MetricAlarm": "AWS::CloudWatch::Alarm", "CompositeAlarm": "AWS::CloudWatch::CompositeAlarm"}


@dataclass(frozen=True)
class AlarmOn:
    """An alarm that has gone off. meaning: one sentence. runbook: where its paragraph is. Empty in a foreign alarm."""

    name: str
    meaning: str
    runbook: str


def alarms_on(stack: DeployedStack) -> tuple[list[AlarmOn], int]:
    """Return the alarms that have gone off, those for paging first, and the number of all alarms."""
    names = [name for kind in _TYPES.values() for name in stack.resources.get(kind, [])]
    paging = stack.resources.get(_TYPES["CompositeAlarm"], [])
    pages = stack.clients("cloudwatch").get_paginator("describe_alarms")
    on = [
        _described(alarm["AlarmName"], alarm.get("AlarmDescription") or "")
        for start in range(0, len(names), _MOST_NAMES)
        for page in pages.paginate(
            AlarmNames=names[start : start + _MOST_NAMES], AlarmTypes=[*_TYPES], StateValue="ALARM"
        )
        for alarm in (*page["MetricAlarms"], *page["CompositeAlarms"])
    ]
    return sorted(on, key=lambda each: (each.name not in paging, each.name)), len(names)


def _described(name: str, description: str) -> AlarmOn:
    meaning, _, runbook = description.partition(". What to do: ")
    return AlarmOn(name, meaning, runbook)

"""The alarms of a deployment's stack."""

from slipway.stack.deployed_stack import DeployedStack

_MOST_NAMES = 100  # the limit of one DescribeAlarms call


def alarms_on(stack: DeployedStack) -> tuple[list[str], int]:
    """Return the names of the alarms that have gone off, and the number of all alarms."""
    names = stack.resources.get("AWS::CloudWatch::Alarm", [])
    pages = stack.clients("cloudwatch").get_paginator("describe_alarms")
    on = [
        alarm["AlarmName"]
        for start in range(0, len(names), _MOST_NAMES)
        for page in pages.paginate(AlarmNames=names[start : start + _MOST_NAMES], StateValue="ALARM")
        for alarm in page["MetricAlarms"]
    ]
    return sorted(on), len(names)

"""The alarms that revert an update: the permission to watch them, and the watch."""

import time
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.services import cloudwatch, iam

_LOOK_INTERVAL_IN_SECONDS = 10


class RollbackError(Exception):
    """An update that the automatic rollback reverts."""


def alarms_of(deployment: dict[str, Any]) -> list[str]:
    """The names of the alarms in a DeploymentConfig."""
    return [alarm["AlarmName"] for alarm in (deployment.get("AutoRollbackConfiguration") or {}).get("Alarms", [])]


def demand_permission_to_watch(alarms: list[str], role_arn: str) -> None:
    """Raise RollbackError unless the role may describe the alarms."""
    for alarm in alarms:
        resource = f"arn:aws:cloudwatch:{ministack.region()}:{ministack.account_id()}:alarm:{alarm}"
        if not iam.role_may(role_arn, "cloudwatch:DescribeAlarms", resource):
            raise RollbackError(
                f"The role '{role_arn}' does not have cloudwatch:DescribeAlarms permission for the alarm '{alarm}' "
                "of the automatic rollback."
            )


def bake(seconds: float, alarms: list[str]) -> None:
    """Watch the alarms for `seconds` of the cloud; raises RollbackError if one goes off."""
    started = time.time()
    deadline = started + clock.shortened(seconds)
    while True:
        for alarm in alarms:
            if cloudwatch.alarm_was_on(alarm, since=started):
                raise RollbackError(f"The update was rolled back because the alarm {alarm} went off.")
        left = deadline - time.time()
        if left <= 0:
            return
        clock.sleep(min(left, clock.shortened(_LOOK_INTERVAL_IN_SECONDS)), in_work=True)

"""What the registered scaling policies make of metrics and alarms, again and again."""

import time
from typing import Any

from local_cloud.emulator import clock, cloudwatch_hooks, ministack
from local_cloud.emulator.application_autoscaling import Policy, policies, targets
from local_cloud.emulator.cloudwatch_alarms import values_of_periods
from local_cloud.emulator.step_scaling import StepScaling
from local_cloud.emulator.target_tracking import TargetTracking

_LOOK_INTERVAL_IN_SECONDS = 10
# While an alarm stays on, CloudWatch repeats its scaling actions.
_ACTION_INTERVAL_IN_SECONDS = 60
# When an alarm last acted, by its name.
_acted_at: Any = ministack.scoped_store()


def _follow_policies() -> None:
    for account, region in {(account, region) for account, region, _ in ministack.in_all_scopes(targets)}:
        with ministack.scope(account, region):
            _follow_alarms()
            for target in targets.values():
                target.track(_tracking(target.resource_id))


def _tracking(resource_id: str) -> list[TargetTracking]:
    mine = [policy.configuration for policy in policies.values() if policy.resource_id == resource_id]
    return [configuration for configuration in mine if isinstance(configuration, TargetTracking)]


def _follow_alarms() -> None:
    on = {alarm["AlarmName"]: alarm for alarm in cloudwatch_hooks.alarms_that_are_on()}
    for name in set(_acted_at.keys()) - on.keys():
        _acted_at.pop(name, None)
    for name, alarm in on.items():
        actions = [arn for arn in alarm["AlarmActions"] if arn in policies] if alarm["ActionsEnabled"] else []
        due = _acted_at.get(name, 0.0) + clock.shortened(_ACTION_INTERVAL_IN_SECONDS)
        if actions and time.monotonic() >= due:
            _acted_at[name] = time.monotonic()
            for arn in actions:
                _step(policies[arn], alarm)


def _step(policy: Policy, alarm: dict[str, Any]) -> None:
    target, steps = targets.get(policy.resource_id), policy.configuration
    if target is None or not isinstance(steps, StepScaling):
        return
    metric = alarm | {"Statistic": steps.statistic, "ExtendedStatistic": None}
    values = values_of_periods(metric, alarm["Period"], alarm["EvaluationPeriods"], time.time())
    value = next((value for value in values if value is not None), None)
    if value is not None:
        above = value - alarm["Threshold"]
        target.step(lambda capacity: steps.wanted_from(capacity, above), steps.cooldown)


def install() -> None:
    ministack.repeat(_follow_policies, clock.shortened(_LOOK_INTERVAL_IN_SECONDS))

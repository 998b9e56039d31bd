"""EventBridge: schedules on the cloud's clock, and rules that need a function's permission to invoke it."""

import logging
from typing import Any

from local_cloud.emulator import clock, ministack, sqs
from local_cloud.emulator.lambda_.functions import function_allows

_events = ministack.internals(
    "ministack.services.eventbridge",
    "_dispatch_to_sqs",
    "_invoke_target",
    "_tick_scheduled_rules",
    "start_scheduler",
    "time",
)

_log = logging.getLogger(__name__)
_LOOK_FOR_DUE_RULES_EVERY_SECONDS = 0.1


def _demand_permission() -> None:
    invoke = _events._invoke_target

    def invoke_target(target: dict[str, Any], event: Any, rule: dict[str, Any], *rest: Any) -> None:
        if ":lambda:" in target["Arn"] and not function_allows("events.amazonaws.com", target["Arn"], rule["Arn"]):
            _log.warning("%s: the policy of %s does not let EventBridge invoke it.", rule["Arn"], target["Arn"])
        else:
            invoke(target, event, rule, *rest)

    _events._invoke_target = invoke_target


def install() -> None:
    ministack.follow_clock(_events)
    _demand_permission()
    _events.start_scheduler = lambda: None
    clock.repeat(_events._tick_scheduled_rules, _LOOK_FOR_DUE_RULES_EVERY_SECONDS, skips_missed=True)
    _events._dispatch_to_sqs = sqs.one_at_a_time(_events._dispatch_to_sqs)

"""EventBridge: schedules follow the cloud's clock, rules need a function's permission, events have condition keys."""

import json
import logging
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.lambda_.functions import function_allows
from local_cloud.emulator.services import sqs

_events = ministack.internals(
    "ministack.services.eventbridge",
    "_dispatch_to_sqs",
    "_invoke_target",
    "_tick_scheduled_rules",
    "start_scheduler",
    "time",
)
_iam_actions = ministack.internals("ministack.core.iam_actions", "request_tag_context")

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


def _add_condition_keys() -> None:
    """Give policies the condition keys events:source and events:detail-type.

    Several values in one call are joined, so that no condition on a single value matches them.
    """
    tags = _iam_actions.request_tag_context

    def context(service: str, action: str, body: bytes, parameters: dict[str, Any]) -> dict[str, Any]:
        keys: dict[str, Any] = tags(service, action, body, parameters)
        if action == "events:PutEvents":
            for key, member in (("events:source", "Source"), ("events:detail-type", "DetailType")):
                keys[key] = ", ".join(sorted({each.get(member, "") for each in json.loads(body)["Entries"]}))
        return keys

    _iam_actions.request_tag_context = context


def install() -> None:
    ministack.follow_clock(_events)
    _add_condition_keys()
    _demand_permission()
    _events.start_scheduler = lambda: None
    clock.repeat(_events._tick_scheduled_rules, _LOOK_FOR_DUE_RULES_EVERY_SECONDS, skips_missed=True)
    _events._dispatch_to_sqs = sqs.one_at_a_time(_events._dispatch_to_sqs)

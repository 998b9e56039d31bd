"""The hooks into how the emulator's SNS and EventBridge hand a message to its target."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator import hooks, lambda_hooks

_events = hooks.internals(
    "ministack.services.eventbridge",
    "_SCHEDULER_TICK_INTERVAL",
    "_dispatch_to_lambda",
    "_invoke_target",
    "_parse_rate_seconds",
    "_pattern_event_view",
)
_sns = hooks.internals(
    "ministack.services.sns", "_deliver_to_lambda", "_deliver_to_sqs", "_fanout", "_topic_by_arn_any_scope", "_topics"
)


@dataclass(frozen=True)
class Delivery:
    """A message on its way: from a topic or a rule (`source_arn`) of a service, "sns" or "events", to a target."""

    service: str
    source_arn: str
    target_arn: str
    body: str
    dead_letter_arn: str
    is_scheduled: bool = False


Deliver = Callable[[Delivery, Callable[[], None]], None]


def deliver_with(deliver: Deliver) -> None:
    """Hand over each message through deliver(delivery, proceed)."""
    _deliver_notifications_with(deliver)
    _deliver_events_with(deliver)


def _deliver_notifications_with(deliver: Deliver) -> None:
    to_queue, to_function = _sns._deliver_to_sqs, _sns._deliver_to_lambda

    def deliver_to_sqs(endpoint: str, envelope: str, raw: bool, message: str, *args: Any, **named: Any) -> None:
        topic = named["topic_arn"]
        delivery = Delivery("sns", topic, endpoint, message if raw else envelope, _dead_letters_of(topic, endpoint))
        deliver(delivery, functools.partial(to_queue, endpoint, envelope, raw, message, *args, **named))

    def deliver_to_lambda(endpoint: str, envelope: str, topic: str, *args: Any) -> None:
        delivery = Delivery("sns", topic, endpoint, envelope, _dead_letters_of(topic, endpoint))
        deliver(delivery, functools.partial(to_function, endpoint, envelope, topic, *args))

    _sns._deliver_to_sqs, _sns._deliver_to_lambda = deliver_to_sqs, deliver_to_lambda


def _dead_letters_of(topic_arn: str, endpoint: str) -> str:
    """The ARN of the queue for what a subscription can't deliver, "" for none."""
    for subscription in (_sns._topic_by_arn_any_scope(topic_arn) or {}).get("subscriptions", []):
        if subscription["endpoint"] == endpoint and (policy := subscription["attributes"].get("RedrivePolicy")):
            return str(json.loads(policy)["deadLetterTargetArn"])
    return ""


def limit_default_policy(topic_arn: str) -> None:
    """Give a topic of a template the default policy of AWS, which is for services: principals need their own right."""
    attributes = _sns._topics[topic_arn]["attributes"]
    document = json.loads(attributes.get("Policy") or "{}")
    if document.get("Id") == "__default_policy_ID":
        document["Statement"][0]["Condition"] = {"StringEquals": {"AWS:SourceOwner": hooks.account_id()}}
        attributes["Policy"] = json.dumps(document)


def _deliver_events_with(deliver: Deliver) -> None:
    invoke = _events._invoke_target

    def invoke_target(target: dict[str, Any], event: Any, rule: dict[str, Any], view: Any = None) -> None:
        view = view or _events._pattern_event_view(event)
        body = target.get("Input") or json.dumps(view.event_with_detail())
        dead_letters = (target.get("DeadLetterConfig") or {}).get("Arn", "")
        is_scheduled = event.get("Source") == "aws.events"
        delivery = Delivery("events", rule["Arn"], target["Arn"], body, dead_letters, is_scheduled)
        deliver(delivery, functools.partial(invoke, target, event, rule, view))

    _events._invoke_target = invoke_target


def invoke_functions_of_rules_asynchronously() -> None:
    """Let a rule call its function as EventBridge does: a failed call is tried again by Lambda."""
    _events._dispatch_to_lambda = lambda arn, payload: lambda_hooks.invoke_asynchronously(arn, json.loads(payload))


def schedule_with(shortened: Callable[[float], float], look_every_seconds: float) -> None:
    """Run rate() schedules on a shortened clock, looking for due ones at this interval."""
    rate = _events._parse_rate_seconds

    def parse_rate_seconds(expression: str) -> float | None:
        seconds = rate(expression)
        return None if seconds is None else shortened(seconds)

    _events._parse_rate_seconds = parse_rate_seconds
    _events._SCHEDULER_TICK_INTERVAL = look_every_seconds

"""What SNS and EventBridge may deliver: the target's policy and key must let them, else it is a dead letter."""

import logging
from collections.abc import Callable

from local_cloud.emulator import clock, delivery_hooks, kms_hooks, sqs_hooks
from local_cloud.emulator.cloudformation_hooks import extend_resource_type
from local_cloud.emulator.delivery_hooks import Delivery
from local_cloud.emulator.lambda_hooks import function_allows, retry_asynchronous_calls_after
from local_cloud.emulator.lambda_run_hooks import function_is_running

_log = logging.getLogger(__name__)
_LOOK_FOR_DUE_RULES_EVERY_SECONDS = 0.1
_FIRST_RETRY_AFTER_SECONDS = 60.0


def _deliver(delivery: Delivery, proceed: Callable[[], None]) -> None:
    if delivery.is_scheduled and clock.SPEED > 1 and function_is_running(delivery.target_arn):
        # A fast clock does not make functions faster: on AWS this run would be over long before the next one.
        return
    refusal = _refusal(delivery, delivery.target_arn)
    if not refusal:
        proceed()
        return
    _log.warning("%s -> %s: %s", delivery.source_arn, delivery.target_arn, refusal)
    queue = sqs_hooks.find_queue(delivery.dead_letter_arn) if delivery.dead_letter_arn else None
    if queue is not None and not _refusal(delivery, delivery.dead_letter_arn):
        source = "RULE_ARN" if delivery.service == "events" else "TOPIC_ARN"
        attributes = {"ERROR_CODE": "NO_PERMISSIONS", "ERROR_MESSAGE": refusal, source: delivery.source_arn}
        sqs_hooks.put_message(queue, delivery.body, attributes)


def _refusal(delivery: Delivery, target_arn: str) -> str:
    """Why the target does not take the message, "" when it does."""
    service, kind = f"{delivery.service}.amazonaws.com", target_arn.split(":")[2]
    if kind == "lambda" and not function_allows(service, target_arn, delivery.source_arn):
        return f"The function's policy does not let {service} invoke it."
    if kind == "sqs" and (queue := sqs_hooks.find_queue(target_arn)):
        if not sqs_hooks.queue_lets(service, target_arn, delivery.source_arn):
            return f"The queue's policy does not let {service} send to it."
        key = queue["attributes"].get("KmsMasterKeyId", "")
        if key and not kms_hooks.key_lets(service, key, delivery.source_arn):
            return f"The queue's key {key} does not let {service} use it."
    return ""


def install() -> None:
    delivery_hooks.deliver_with(_deliver)
    delivery_hooks.invoke_functions_of_rules_asynchronously()
    delivery_hooks.schedule_with(clock.shortened, _LOOK_FOR_DUE_RULES_EVERY_SECONDS)
    retry_asynchronous_calls_after(clock.shortened(_FIRST_RETRY_AFTER_SECONDS))
    extend_resource_type("AWS::SNS::Topic", complete=lambda arn, _: delivery_hooks.limit_default_policy(arn))

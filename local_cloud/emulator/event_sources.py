"""Lambda's event source mappings on queues: permissions, batches, what a batch's answer means, and retries."""

import json
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import clock, event_source_hooks, role_hooks, sqs_hooks
from local_cloud.emulator.cloudformation_hooks import extend_resource_type
from local_cloud.emulator.event_source_hooks import Mapping
from local_cloud.emulator.lambda_hooks import function_configuration, recursion_is_allowed
from local_cloud.emulator.lambda_run_hooks import continue_chain
from local_cloud.emulator.sqs_hooks import Message, Queue

_ACTIONS = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
_MOST_WITHOUT_A_WINDOW = 10
_BACK_OFF_IN_SECONDS = 1.0
# After so many invocations that one message has led to, Lambda takes it for a loop.
_LONGEST_CHAIN = 16


def failed_messages(answer: Any, ids: set[str]) -> set[str]:
    """The ids of a batch's messages that come back, by what the function answered to ReportBatchItemFailures.

    A wrong answer means that all have failed, as AWS's documentation has it.
    """
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except ValueError:
            return ids
    if answer is None or answer == {}:
        return set()
    if not isinstance(answer, dict):
        return ids
    failures = answer.get("batchItemFailures") or []
    named = {str(each.get("itemIdentifier")) if isinstance(each, dict) else "" for each in failures}
    return named if named <= ids else ids


def _run(mapping: Mapping, batch: list[Message], call: Callable[[], dict[str, Any]]) -> None:
    queue = sqs_hooks.find_queue(mapping["EventSourceArn"])
    if queue is None:
        return
    chain = max(message.get("chain", 0) for message in batch) + 1
    if chain > _LONGEST_CHAIN and not recursion_is_allowed(mapping["FunctionName"]):
        sqs_hooks.bury(queue, batch)
        return
    taken_at = time.time()
    continue_chain(chain)
    result = call()
    ids = {message["id"] for message in batch}
    reports = "ReportBatchItemFailures" in (mapping.get("FunctionResponseTypes") or [])
    failed = ids if result.get("error") else failed_messages(result.get("body"), ids) if reports else set()
    visible_at = taken_at + clock.shortened(int(queue["attributes"]["VisibilityTimeout"]))
    sqs_hooks.end_batch(queue, batch, failed, max(visible_at, time.time()))
    if failed:
        mapping["LastProcessingResult"] = "PROBLEM: Function call failed" if failed == ids else "OK"
        event_source_hooks.poll_at(max(visible_at, time.time()))
        if not reports:
            event_source_hooks.back_off(mapping, clock.shortened(_BACK_OFF_IN_SECONDS))
    else:
        mapping["LastProcessingResult"] = "OK"


def _is_held(mapping: Mapping, role: str, queue: Queue) -> bool:
    """Whether there is nothing to read, the role may not read it, or the batch still waits for more messages."""
    if not queue["messages"]:
        return True
    if _missing_action(role, mapping["EventSourceArn"]):
        mapping["LastProcessingResult"] = "PROBLEM: Lambda lacks permission to access your SQS resource."
        return True
    window = int(mapping.get("MaximumBatchingWindowInSeconds") or 0)
    if not window:
        return False
    now = time.time()
    since = [message["visible_at"] for message in queue["messages"] if message["visible_at"] <= now]
    if not since or len(since) >= int(mapping["BatchSize"]):
        return False
    ends: float = min(since) + clock.shortened(window)
    event_source_hooks.poll_at(ends)
    return now < ends


def _missing_action(role: str, queue_arn: str) -> str:
    return next((each for each in _ACTIONS if not role_hooks.role_may(role, f"sqs:{each}", queue_arn)), "")


def _check(properties: dict[str, Any]) -> None:
    arn = properties["EventSourceArn"]
    config = function_configuration(properties["FunctionName"])
    queue = sqs_hooks.find_queue(arn)
    if queue is None or config is None:
        raise ValueError(f"The event source or the function does not exist: {arn}, {properties['FunctionName']}")
    if action := _missing_action(config["Role"], arn):
        raise ValueError(f"The provided execution role does not have permissions to call {action} on SQS")
    visibility, timeout = int(queue["attributes"]["VisibilityTimeout"]), int(config["Timeout"])
    if visibility < timeout:
        raise ValueError(
            f"Queue visibility timeout: {visibility} seconds is less than Function timeout: {timeout} seconds"
        )
    size, window = int(properties.get("BatchSize", 10)), int(properties.get("MaximumBatchingWindowInSeconds", 0))
    if size > _MOST_WITHOUT_A_WINDOW and not window:
        raise ValueError("Maximum batch window in seconds must be greater than 0 if maximum batch size is over 10")
    most = (properties.get("ScalingConfig") or {}).get("MaximumConcurrency")
    if most is not None and not 2 <= int(most) <= 1000:
        raise ValueError(f"ScalingConfig.MaximumConcurrency: {most} is not between 2 and 1000")


def install() -> None:
    sqs_hooks.mark_taken()
    event_source_hooks.poll_promptly()
    event_source_hooks.run_batches_with(_run)
    event_source_hooks.hold_batches_back_while(_is_held)
    extend_resource_type("AWS::Lambda::EventSourceMapping", check=_check)

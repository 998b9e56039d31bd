"""Why a deployment's endpoint or stack failed last: AWS's reason, the cause in words, the container's own lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.container_log import last_words
from slipway.deployed_stack import DeployedStack

# In the order in which they explain; the words are searched in AWS's reason and in the container's lines.
_CAUSES = (
    (r"insufficient.{0,20}capacity|unable to provision", "AWS has none of that type now: try another, or later"),
    (
        r"ResourceLimitExceeded|service limit|quota",
        "the account's quota is too small: python -m slipway doctor {name} names it",
    ),
    (
        r"CloudWatch Logs role ARN",
        "API Gateway has no role for logs: deploy slipway-account-settings once, then deploy again",
    ),
    (
        r"CUDA out of memory|OutOfMemoryError|out of memory",
        "weights and cache do not fit: a smaller max_model_len, a larger type, or a smaller model",
    ),
    (
        r"gated repo|GatedRepo|huggingface\.co.{0,80}(401|403)|(401|403).{0,80}huggingface\.co",
        "the model is gated: stage the weights (python -m slipway stage {name}) and set model.weights",
    ),
    (r"\balarms?\b", "the new instances answered badly: an alarm took the update back"),
    (
        r"ping health check",
        "the container ended, or was too slow: mend serving by its lines, or raise hosting.startup_timeout_in_seconds",
    ),
)
_BEGINNINGS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS")


@dataclass(frozen=True)
class Failure:
    """reason: AWS's own. cause: in words, "" = none that is known. lines: the container's last that matter."""

    reason: str
    cause: str
    lines: list[str]


def last_failure(stack: DeployedStack) -> Failure | None:
    """None where the endpoint names no failure and the stack's last operation did not fail."""
    reason = str((stack.endpoint or {}).get("FailureReason") or "")
    if not reason and ("ROLLBACK" in stack.status or "FAILED" in stack.status):
        reason = next(_reasons(stack), stack.status)
    if not reason:
        return None
    lines = last_words(stack.container_log_group, stack.clients("logs"))
    return Failure(reason, cause_of(stack.name, reason, lines), lines)


def cause_of(name: str, reason: str, lines: list[str]) -> str:
    """The container's lines say more than a failed health check."""
    said = "\n".join([reason, *lines])
    return next((words.format(name=name) for pattern, words in _CAUSES if re.search(pattern, said, re.I)), "")


def _reasons(stack: DeployedStack) -> Iterator[str]:
    """Reasons of the stack's last operation, the first one first; those that only follow from it are left out."""
    failed = [
        f"{event['LogicalResourceId']} ({event['ResourceType']}): {event['ResourceStatusReason']}"
        for event in _last_operation(stack)
        if event["ResourceStatus"].endswith("FAILED") and event.get("ResourceStatusReason")
    ]
    yield from (reason for reason in reversed(failed) if "cancelled" not in reason)


def _last_operation(stack: DeployedStack) -> Iterator[dict[str, Any]]:
    """Events back to the one that began it, the newest first."""
    pages = stack.clients("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack.name)
    for event in (event for page in pages for event in page["StackEvents"]):
        yield event
        if event["LogicalResourceId"] == stack.name and event["ResourceStatus"] in _BEGINNINGS:
            return

"""Tells why a deployment failed last: AWS's own reason, the cause in words, the last lines of the model's log."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.stack.container_log import last_words, telling
from slipway.stack.deployed_stack import DeployedStack

# The first match wins. The words are searched in AWS's reason and in the container's lines.
_CAUSES = (
    (
        r"sufficient.{0,30}capacity|unable to provision|no instance has started",
        "AWS has no free instance of the type: try later, or use another type",
    ),
    (
        r"(Resource|Service|Vcpu)LimitExceeded|service limit|vCPU limit|quota",
        "the account's quota is too small: `slipway doctor {name}` names it",
    ),
    (
        r"(not enough|insufficient) hardware resources",
        "no instance has room for a copy: AWS has no free instance of the type, or all of hosting.instance_count.max "
        "are full",
    ),
    (
        r"CloudWatch Logs role ARN",
        "API Gateway has no role for logs: deploy slipway-account-settings once, then deploy again",
    ),
    (
        r"CUDA out of memory|OutOfMemoryError|out of memory|ended with status 137",
        "weights and cache do not fit the memory: lower max_model_len, or use a larger type or a smaller model",
    ),
    (
        r"gated repo|GatedRepo|huggingface\.co.{0,80}(401|403)|(401|403).{0,80}huggingface\.co",
        "the model is gated: stage the weights (`slipway stage {name}`) and set model.weights",
    ),
    (
        r"S3 VPC endpoint exists",
        "no endpoint or route leads from the subnets of security.vpc to S3: `slipway doctor {name}` says more",
    ),
    (
        r"connect to '?https://(huggingface\.co|pypi\.org)|no route to https://pypi",
        "the container does not reach the internet: stage the weights (`slipway stage {name}`) and set model.weights, "
        "or use subnets in security.vpc that lead there",
    ),
    (r"no space left on device", "the disk is too small: raise hosting.volume_size_in_gb"),
    (
        r"could not connect to the endpoint|could not resolve host|name resolution|network is unreachable",
        "the machine does not reach the internet: use subnets in security.vpc that lead there",
    ),
    (
        r"WaitCondition timed out",
        "a machine was not set up in time: fix the error in its log, or raise hosting.startup_timeout_in_seconds",
    ),
    (r"\balarms?\b", "an alarm went off because of the new instances, so the update was rolled back"),
    (
        r"ping health check",
        "the container ended or was too slow: fix the error in its log, or raise hosting.startup_timeout_in_seconds",
    ),
)
END_OF_LOG = "The end of its log:"  # a machine sends this to CloudFormation after its set-up failed (user_data.sh)
_SENDER = "' for uniqueId: "  # CloudFormation's words after the machine's text
_BEGINNINGS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS")


@dataclass(frozen=True)
class Failure:
    """Why a deployment failed.

    reason: AWS's own words. cause: the cause and the fix in plain words; "" = not known. lines: the last relevant
    lines of the model's log.
    """

    reason: str
    cause: str
    lines: list[str]


def last_failure(stack: DeployedStack) -> Failure | None:
    """Find the last failure; None = the hosting reports none, and the stack's last operation succeeded."""
    hosting = hosting_of(stack)
    reason = hosting.failure
    if not reason and ("ROLLBACK" in stack.status or "FAILED" in stack.status):
        reason = next(reasons(stack.stack_name, stack.clients("cloudformation")), stack.status)
    if not reason:
        return None
    reason, _, sent = reason.partition(END_OF_LOG)
    lines = telling([sent.rpartition(_SENDER)[0] or sent]) or last_words(hosting.log_group, stack.clients("logs"))
    return Failure(reason.strip(), cause_of(stack.name, reason, lines), lines)


def cause_of(name: str, reason: str, lines: list[str]) -> str:
    """Return the cause in plain words; "" = not known. The reason and the log's lines are searched for known words."""
    said = "\n".join([reason, *lines])
    return next((words.format(name=name) for pattern, words in _CAUSES if re.search(pattern, said, re.I)), "")


def reasons(stack: str, client: Any) -> Iterator[str]:
    """Yield the reasons of the failures in the last operation on a stack, the first failure first.

    Failures that only follow from other failures are left out.
    """
    failed = [
        f"{event['LogicalResourceId']} ({event['ResourceType']}): {event['ResourceStatusReason']}"
        for event in _last_operation(stack, client)
        if event["ResourceStatus"].endswith("FAILED") and event.get("ResourceStatusReason")
    ]
    yield from (reason for reason in reversed(failed) if "cancelled" not in reason)


def _last_operation(stack: str, client: Any) -> Iterator[dict[str, Any]]:
    """Yield the events of the last operation, the newest first."""
    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack)
    for event in (event for page in pages for event in page["StackEvents"]):
        yield event
        if event["LogicalResourceId"] == stack and event["ResourceStatus"] in _BEGINNINGS:
            return

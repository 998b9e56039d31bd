"""The callers that used a service most in a month."""

from datetime import datetime
from typing import Any

from slipway.cost.callers import callers
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.keys import KeysError

_MOST = 3


def busiest(stack: DeployedStack, month: datetime) -> list[dict[str, Any]]:
    """Return name, requests and tokens of the callers with most tokens; empty = the service counts no caller's use."""
    try:
        found = callers(stack, month)
    except KeysError:
        return []
    used = sorted(found, key=lambda each: (-each.counts.tokens, -each.counts.requests, each.name))
    return [
        {"name": each.name, "requests": each.counts.requests, "tokens": each.counts.tokens}
        for each in used[:_MOST]
        if each.counts.requests
    ]

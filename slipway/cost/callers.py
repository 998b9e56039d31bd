"""The use of each key, or each caller with a token, of a service in a month."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from slipway.shared.table import table_lines
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.key_counts import Counts, callers_of, counts_of, owner_of_key
from slipway.stack.keys import DeployedKeys, KeysError
from slipway.stack.operator_token import takes_tokens

_COUNTED = ("requests", "errors", "tokens in", "tokens out", "open", "USD")
_OTHERS = "others"  # the stack's own key, keys made by hand, and names that the deployment has dropped


class Caller(NamedTuple):
    """A key and its owner, or a caller with a token and its group."""

    name: str
    group: str | None
    counts: Counts


def rows(stack: DeployedStack, found: Sequence[Caller], usd: float | None) -> list[dict[str, Any]]:
    """Return the members that `--json` prints for each. usd: the cost to share out by tokens; None = not known.

    Without any tokens nobody has a share.
    """
    tokens = sum(each.counts.tokens for each in found)
    return [_who(stack, each) | _shares(each.counts, usd, tokens) for each in found]


def table(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table of such rows."""
    names = ("caller", "group") if found and "caller" in found[0] else ("key", "owner")
    return table_lines((*names, *_COUNTED), [_cells(each) for each in found], right=_COUNTED)


def _who(stack: DeployedStack, each: Caller) -> dict[str, Any]:
    if takes_tokens(stack):
        return {"caller": each.name, "group": each.group}
    return {"key": each.name, "owner": each.group}


def _shares(counts: Counts, cost: float | None, tokens: int) -> dict[str, Any]:
    return {
        "requests": counts.requests,
        "errors": counts.errors,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "tokens_open": counts.open,
        "usd": None if cost is None or not tokens else round(cost * counts.tokens / tokens, 2),
    }


def callers(stack: DeployedStack, month: datetime) -> list[Caller]:
    """Return all keys of a stack by name, or the callers of a month with tokens, the busiest first.

    Raises KeysError for a stack that counts no usage.
    """
    if not takes_tokens(stack):
        return _keys(stack, month)
    if "UsageTable" not in stack.outputs:
        raise KeysError(f"{stack.name} counts no usage: add api.jwt.groups to its file and deploy it.")
    return [Caller(*each) for each in callers_of(stack, month)]


def _keys(stack: DeployedStack, month: datetime) -> list[Caller]:
    keys = DeployedKeys(stack)
    left, others = counts_of(stack, month), Counts()
    found = [
        Caller(name, key.owner, left.pop(owner_of_key(name), Counts())) for name, key in sorted(keys.named.items())
    ]
    for counts in left.values():
        others = others.plus(counts)
    return [*found, Caller(_OTHERS, None, others)]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    *who, requests, errors, tokens_in, tokens_out, tokens_open, usd = row.values()
    numbers = [f"{number:,}" for number in (requests, errors, tokens_in, tokens_out, tokens_open)]
    return (*(each or "" for each in who), *numbers, "" if usd is None else f"{usd:.2f}")

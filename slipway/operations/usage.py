"""Shows the usage of each key, or caller, of a deployed API in a month, and its share of the cost."""

import json
import sys
from datetime import UTC, datetime
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.key_counts import Counts, callers_of, counts_of, owner_of_key
from slipway.stack.keys import DeployedKeys, KeysError
from slipway.stack.operator_token import takes_tokens

Who = dict[str, Any]

_COUNTED = ("requests", "errors", "tokens in", "tokens out", "open", "USD")
_OTHERS = "others"  # the stack's own key, keys made by hand, and names that the deployment has dropped


def run(deployment: str, month: datetime | None, region: str | None, usd: float | None, *, as_json: bool) -> int:
    """Print the table.

    month: the month's first moment in UTC; None = this month. usd: the month's cost from the bill; None = estimate it.
    """

    def verb(stack: DeployedStack) -> int:
        try:
            return _show(stack, month or _first_of(datetime.now(UTC)), usd, as_json=as_json)
        except KeysError as error:
            print(error, file=sys.stderr)
            return 2

    return with_stack(deployment, region, verb)


def _show(stack: DeployedStack, month: datetime, usd: float | None, *, as_json: bool) -> int:
    counted = _of_callers(stack, month) if takes_tokens(stack) else _of_keys(stack, month)
    cost, basis = (usd, "as given") if usd is not None else _cost(stack, month)
    tokens = sum(counts.tokens for _, counts in counted)
    rows = [who | _shares(counts, cost, tokens) for who, counts in counted]
    if as_json:
        found = {"callers": rows} if takes_tokens(stack) else {"keys": rows}
        print(json.dumps({"month": f"{month:%Y-%m}", "usd": cost, "basis": basis} | found, indent=2))
        return 0
    from slipway.shared.table import print_table

    shown = [_cells(row) for row in rows]
    names = ("caller", "group") if takes_tokens(stack) else ("key", "owner")
    print_table((*names, *_COUNTED), shown, right=_COUNTED)
    total = "not known" if cost is None else f"{cost:.2f} USD"
    print(f"{month:%Y-%m} (UTC), cost {total}: {basis}; shared out by tokens.")
    return 0


def _of_callers(stack: DeployedStack, month: datetime) -> list[tuple[Who, Counts]]:
    if "UsageTable" not in stack.outputs:
        raise KeysError(f"{stack.name} counts no usage: add api.jwt.groups to its file and deploy it.")
    return [({"caller": caller, "group": group}, counts) for caller, group, counts in callers_of(stack, month)]


def _of_keys(stack: DeployedStack, month: datetime) -> list[tuple[Who, Counts]]:
    keys = DeployedKeys(stack)
    left, others = counts_of(stack, month), Counts()
    rows = [(name, key.owner, left.pop(owner_of_key(name), Counts())) for name, key in sorted(keys.named.items())]
    for counts in left.values():
        others = others.plus(counts)
    return [({"key": name, "owner": owner}, counts) for name, owner, counts in [*rows, (_OTHERS, None, others)]]


def _shares(counts: Counts, cost: float | None, tokens: int) -> dict[str, Any]:
    return {
        "requests": counts.requests,
        "errors": counts.errors,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "tokens_open": counts.open,
        "usd": None if cost is None else round(cost * counts.tokens / tokens if tokens else 0, 2),
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    *who, requests, errors, tokens_in, tokens_out, tokens_open, usd = row.values()
    numbers = [f"{number:,}" for number in (requests, errors, tokens_in, tokens_out, tokens_open)]
    return (*(each or "" for each in who), *numbers, "" if usd is None else f"{usd:.2f}")


def _cost(stack: DeployedStack, month: datetime) -> tuple[float | None, str]:
    """Estimate the month's USD until now, and say how. None = the cost is not known."""
    if stack.local_cloud:
        return None, "nothing is spent on the local cloud; give an amount with --usd"
    price = hosting_of(stack).state()["usd_per_hour"]
    if not price:
        return None, "nothing runs now, or its price is not known; give the bill's amount with --usd"
    begun = max(month, stack.described["CreationTime"].astimezone(UTC))
    ended = min(datetime.now(UTC), _first_of(month, months=1))
    hours, source = _hours(stack, begun, ended)
    return round(hours * price, 2), f"{hours:,.1f} hours {source}, each at {price:.2f} USD for what runs now"


def _hours(stack: DeployedStack, begun: datetime, ended: datetime) -> tuple[float, str]:
    """Count the hours in which the endpoint's instances reported metrics; without metrics, count all hours."""
    variants = (stack.endpoint or {}).get("ProductionVariants", [])
    if variants and ended > begun:
        points = stack.clients("cloudwatch").get_metric_statistics(
            Namespace="/aws/sagemaker/Endpoints",
            MetricName="CPUUtilization",
            Dimensions=[
                {"Name": "EndpointName", "Value": stack.endpoint_name},
                {"Name": "VariantName", "Value": variants[0]["VariantName"]},
            ],
            StartTime=begun,
            EndTime=ended,
            Period=3600,
            Statistics=["SampleCount"],
        )["Datapoints"]
        if points:
            return len(points), "with metrics of an instance"
    return max(0.0, (ended - begun).total_seconds() / 3600), "since the stack was made, or the month began"


def _first_of(moment: datetime, months: int = 0) -> datetime:
    number = moment.year * 12 + moment.month - 1 + months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)

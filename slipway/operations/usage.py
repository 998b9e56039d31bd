"""Shows the usage of each key of a deployed API in a month, and its share of the cost."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.key_counts import Counts, counts_of, owner_of_key
from slipway.stack.keys import DeployedKeys, KeysError

_HEADER = ("key", "owner", "requests", "errors", "tokens in", "tokens out", "open", "USD")
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
    keys = DeployedKeys(stack)
    cost, basis = (usd, "as given") if usd is not None else _cost(stack, month)
    used = counts_of(stack, month)
    rows = list(_rows(keys, used, cost))
    if as_json:
        print(json.dumps({"month": f"{month:%Y-%m}", "usd": cost, "basis": basis, "keys": rows}, indent=2))
        return 0
    from slipway.shared.table import print_table

    shown = [_cells(row) for row in rows]
    print_table(_HEADER, shown, right=_HEADER[2:])
    total = "not known" if cost is None else f"{cost:.2f} USD"
    print(f"{month:%Y-%m} (UTC), cost {total}: {basis}; shared out by tokens.")
    return 0


def _rows(keys: DeployedKeys, used: dict[str, Counts], cost: float | None) -> Iterator[dict[str, Any]]:
    tokens = sum(counts.tokens for counts in used.values())
    left = dict(used)
    for name, key in sorted(keys.named.items()):
        yield _row(name, key.owner, left.pop(owner_of_key(name), Counts()), cost, tokens)
    others = Counts()
    for counts in left.values():
        others = others.plus(counts)
    yield _row(_OTHERS, None, others, cost, tokens)


def _row(name: str, owner: str | None, counts: Counts, cost: float | None, tokens: int) -> dict[str, Any]:
    share = counts.tokens / tokens if tokens else 0
    return {
        "key": name,
        "owner": owner,
        "requests": counts.requests,
        "errors": counts.errors,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "tokens_open": counts.open,
        "usd": None if cost is None else round(cost * share, 2),
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = [f"{row[name]:,}" for name in ("requests", "errors", "tokens_in", "tokens_out", "tokens_open")]
    return (row["key"], row["owner"] or "", *numbers, "" if row["usd"] is None else f"{row['usd']:.2f}")


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

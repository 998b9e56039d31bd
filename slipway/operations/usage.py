"""Shows the usage of each key, or caller, of a deployed API in a month, and its share of the cost."""

import json
import sys
from datetime import datetime

from slipway.cost.callers import callers, rows, table
from slipway.cost.cost_of_month import cost_of
from slipway.cost.instance_hours import in_words
from slipway.cost.months import first_of
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.keys import KeysError
from slipway.stack.operator_token import takes_tokens


def run(deployment: str, month: datetime | None, region: str | None, usd: float | None, *, as_json: bool) -> int:
    """Print the table.

    month: the month's first moment in UTC; None = this month. usd: the month's cost from the bill; None = estimate it.
    """

    def verb(stack: DeployedStack) -> int:
        try:
            return _show(stack, month or first_of(stack.now), usd, as_json=as_json)
        except KeysError as error:
            print(error, file=sys.stderr)
            return 2

    return with_stack(deployment, region, verb)


def _show(stack: DeployedStack, month: datetime, usd: float | None, *, as_json: bool) -> int:
    found = callers(stack, month)
    cost, basis = (usd, "as given") if usd is not None else _estimate(stack, month)
    counted = rows(stack, found, cost)
    if as_json:
        about = {"month": f"{month:%Y-%m}", "usd": cost, "basis": basis}
        print(json.dumps(about | ({"callers": counted} if takes_tokens(stack) else {"keys": counted}), indent=2))
        return 0
    total = "not known" if cost is None else f"{cost:.2f} USD"
    print(*table(counted), sep="\n")
    print(f"{month:%Y-%m} (UTC), cost {total}: {basis}; shared out by tokens.")
    return 0


def _estimate(stack: DeployedStack, month: datetime) -> tuple[float | None, str]:
    """Return the month's USD until now, and how they were found. None = the cost is not known."""
    if stack.local_cloud:
        return None, "nothing is spent on the local cloud; give an amount with --usd"
    cost = cost_of(stack, month)
    hours = in_words(cost.hours, stack.region)
    if cost.usd is None:
        return None, f"{hours}; give the bill's amount with --usd"
    return round(cost.usd, 2), f"an estimate, of {hours}, and of what `slipway cost {stack.name}` lists beside them"

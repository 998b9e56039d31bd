"""Shows what a deployment has cost in a month, by estimate, and what the other ways to be idle would have cost."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from llm_hosting.resolution.idle import ways_to_idle
from slipway.cost.alternatives import alternatives
from slipway.cost.beside import LEFT_OUT
from slipway.cost.bill import Bill, bill_of
from slipway.cost.budget import budget_of
from slipway.cost.callers import callers, rows
from slipway.cost.cost_of_month import MonthCost, cost_of
from slipway.cost.months import first_of
from slipway.cost.page import lines_of
from slipway.hosting.hosting import hosting_of
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.keys import KeysError
from slipway.stack.project_file import file_of_stack


def run(
    deployment: str,
    month: datetime | None,
    region: str | None,
    root: Path,
    *,
    usd: float | None,
    asks_bill: bool,
    as_json: bool,
) -> int:
    """Print the page, or one JSON object. Returns exit status 0 for any amount; 2 if AWS can't be asked.

    month: the month's first moment in UTC; None = this month. root: the project, whose file tells the times of a wake.
    usd: the month's cost from the bill; None = it is not known. asks_bill: ask Cost Explorer for it.
    """

    def verb(stack: DeployedStack) -> int:
        cost = cost_of(stack, month or first_of(stack.now))
        bill = Bill(usd, "as given") if usd is not None else bill_of(stack, cost.time) if asks_bill else None
        found = _state(stack, cost, bill, root)
        print(json.dumps(found, indent=2) if as_json else "\n".join(lines_of(found)))
        return 0

    return with_stack(deployment, region, verb)


def _state(stack: DeployedStack, cost: MonthCost, bill: Bill | None, root: Path) -> dict[str, Any]:
    """Make the object that `--json` prints. None = not known, or the deployment has none."""
    shared_out = bill.usd if bill and bill.usd is not None else _cents(cost.usd)
    budget, calls = budget_of(stack), cost.calls_of_models
    by_caller, uncounted = _callers(stack, cost, shared_out)
    return {
        "name": stack.name,
        "region": stack.region,
        "local_cloud": stack.local_cloud,
        "shares_endpoint": stack.shares_endpoint,
        "month": f"{cost.time.begun:%Y-%m}",
        "created": f"{stack.created:%Y-%m-%d %H:%M}",
        "until": f"{cost.time.ended:%Y-%m-%d %H:%M}",
        "usd": _cents(cost.usd),
        "usd_per_million_tokens": None if stack.shares_endpoint else _cents(cost.usd_per_million_tokens),
        "instances": [
            {
                "type": each.instance_type,
                "hours": round(each.hours, 2),
                "usd_per_hour": each.price and each.price.usd,
                "prices_as_of": each.price and each.price.as_of,
                "usd": _cents(each.usd),
            }
            for each in cost.hours
        ],
        "beside": [{**each._asdict(), "usd": each.usd and round(each.usd, 4)} for each in cost.beside],
        "left_out": LEFT_OUT,
        "requests": cost.use.requests,
        "tokens_in": cost.use.tokens_in,
        "tokens_out": cost.use.tokens_out,
        "budget": budget and budget._asdict(),
        "bill": bill and bill._asdict(),
        "callers": by_caller,
        "uncounted": uncounted,
        "models": [
            {"model": name, "calls": count, "usd": _share(shared_out, count, sum(calls.values()))}
            for name, count in calls.items()
        ],
        **_ways(stack, cost, root),
    }


def _callers(stack: DeployedStack, cost: MonthCost, usd: float | None) -> tuple[list[dict[str, Any]], str]:
    """Return the rows of all callers; none, and the reason, for a stack that counts no usage."""
    if stack.api_url is None:  # a shared endpoint
        return [], ""
    try:
        return rows(stack, callers(stack, cost.time.begun), usd), ""
    except KeysError as error:
        return [], str(error)


def _ways(stack: DeployedStack, cost: MonthCost, root: Path) -> dict[str, Any]:
    if not cost.instance_type:
        return {"ways_to_idle": [], "instances_at_once": None, "wake_in_seconds": None}
    file = file_of_stack(stack.name, stack.label.model, root)
    placement = file[1].placements[0] if file else None
    measured = hosting_of(stack).state().get("wakes", {}).get("usual_seconds")
    wake = measured or ways_to_idle(placement)["zero"].wake_in_seconds
    ways = alternatives(stack, cost, placement, wake)
    return {
        "ways_to_idle": [{**each._asdict(), "hours": round(each.hours, 2), "usd": _cents(each.usd)} for each in ways],
        "instances_at_once": round(cost.instances_at_once, 2),
        "wake_in_seconds": wake and round(wake),
    }


def _share(usd: float | None, count: int, total: int) -> float | None:
    return None if usd is None or not total else round(usd * count / total, 2)


def _cents(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 2)

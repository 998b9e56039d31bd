"""One service's cost and use, as `list` and `fleet status` show them."""

from datetime import UTC, datetime
from typing import Any

from slipway.cost.month_so_far import month_so_far
from slipway.cost.months import first_of
from slipway.hosting.hosting import hosting_of
from slipway.reports.figures import Figures
from slipway.reports.places import NotAsked, answer_of
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError


def this_month() -> datetime:
    """Return the month's first moment in UTC."""
    return first_of(datetime.now(UTC))


def figures_of(stack: DeployedStack, month: datetime) -> tuple[Figures, str]:
    """Return the figures of a month until now, and where its cost comes from. Raises boto3's errors."""
    found = month_so_far(stack, month)
    use = (found.requests, found.tokens_in, found.tokens_out) if stack.api_url else (0, 0, 0)
    return Figures(found.usd_per_hour, found.usd, *use), found.basis


def content_of(stack: DeployedStack, month: datetime) -> dict[str, Any]:
    """Return the members of one service for `list --json`.

    mode: None = the stack does not tell it, and `cost` says so. version: of the Slipway that made the stack; empty =
    not told. not_asked: why the figures are not known; None = they were asked.
    """
    content: dict[str, Any] = {
        "name": stack.name,
        "account": stack.account,
        "region": stack.region,
        "status": stack.status,
        "serves": stack.serves,
    }
    try:
        hosting = hosting_of(stack)
    except UnknownStackError as error:
        content |= {"mode": None, "version": "", "cost": str(error), "not_asked": None}
        return content | {"month": f"{month:%Y-%m}", "basis": ""} | Figures().content
    state = hosting.state()
    content |= {"mode": stack.label.mode, "version": stack.label.version, "cost": hosting.cost(state)}
    found = answer_of(lambda each: figures_of(each, month), stack)
    figures, basis = (Figures(state["usd_per_hour"]), "") if isinstance(found, NotAsked) else found
    told = {"not_asked": found.why if isinstance(found, NotAsked) else None, "month": f"{month:%Y-%m}", "basis": basis}
    return content | told | figures.content

"""Asks each target of a fleet for its cost and use, by a role in its account."""

from collections.abc import Iterator
from typing import Any

from slipway.reports.figures import Figures, header, total
from slipway.reports.places import NO_ROLE, NotAsked, Place, clients_of, side_by_side
from slipway.reports.services import figures_of, this_month
from slipway.shared.aws_clients import Clients
from slipway.shared.table import table_lines
from slipway.stack.deployed_stack import DeployedStack, described_stack

_PLACE = ("STACK SET", "ACCOUNT", "REGION")
Target = dict[str, Any]


def cost_of(targets: list[Target], role: str | None, home: Clients) -> dict[str, Any]:
    """Return the figures of each service and their sums, for `--json`.

    targets: the stacks with a service. role: the name of a role in each account; None = only stacks in the caller's own
    account are asked. home: clients of the caller's account. Raises boto3's errors if the caller is not known.
    """
    month = this_month()
    clients = clients_of([_place(target) for target in targets], role, home)

    def figures(target: Target) -> tuple[Figures, str] | NotAsked:
        there = clients[_place(target)]
        if isinstance(there, NotAsked):
            return there
        if (described := described_stack(str(target["stack"]), there)) is None:
            return NotAsked("its stack is gone.")
        return figures_of(DeployedStack(described, there), month)

    services, all_figures = [], []
    for target, answer in zip(targets, side_by_side(figures, targets), strict=True):
        found, basis = (Figures(), None) if isinstance(answer, NotAsked) else answer
        why = answer.why if isinstance(answer, NotAsked) else None
        named = {name: target[name] for name in ("stack_set", "account", "region")}
        services.append(named | found.content | {"basis": basis, "not_asked": why})
        all_figures.append(found)
    return {"month": f"{month:%Y-%m}", "services": services, "total": total(all_figures).content}


def lines(cost: dict[str, Any]) -> Iterator[str]:
    """The table of cost and use, below an empty line; nothing without services."""
    services = cost["services"]
    if not services:
        return
    yield ""
    if all(each["not_asked"] == NO_ROLE.why for each in services):
        yield "cost and use: not asked; name a role in each account with --role"
        return
    columns = header(this_month())
    why = ("NOT ASKED",) if any(each["not_asked"] for each in services) else ()
    rows = [
        (each["stack_set"], each["account"], each["region"], *Figures.of(each).cells, each["not_asked"] or "")
        for each in services
    ]
    rows.append(("total", "", "", *Figures.of(cost["total"]).cells, ""))
    names = (*_PLACE, *columns, *why)
    yield from table_lines(names, [row[: len(names)] for row in rows], right=columns)


def _place(target: Target) -> Place:
    return Place(target["account"], target["region"])

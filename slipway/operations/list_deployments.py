"""Lists the deployments of accounts and regions, with their cost and use."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from slipway.reports.figures import Figures, header, total
from slipway.reports.places import NotAsked, Place, clients_of, side_by_side
from slipway.reports.services import content_of, this_month
from slipway.reports.tables import print_places
from slipway.shared.aws_clients import Clients, clients_in, local_cloud
from slipway.shared.table import print_table
from slipway.stack.deployed_stack import DeployedStack, asking_aws, deployed_stacks

_HEADER = ("NAME", "STATUS", "SERVES", "MODE")
_OF_PLACES = ("ACCOUNT", "REGION", "NAME", "STATUS", "MODE")
_WIDTH = 140


def run(regions: Sequence[str], accounts: Sequence[str], role: str | None, *, as_json: bool) -> int:
    """Print the list.

    regions: empty = AWS_REGION, else boto3's. accounts: empty = the caller's. Returns exit status 0, also for an empty
    list, and 2 if a place was not asked.
    """
    return asking_aws(lambda: _list(regions, accounts, role, as_json=as_json))


def _list(regions: Sequence[str], accounts: Sequence[str], role: str | None, *, as_json: bool) -> int:
    home = clients_in(regions[0] if regions else None)
    sts = home("sts")
    places = [
        Place(account, region)
        for account in accounts or [sts.get_caller_identity()["Account"]]
        for region in regions or [sts.meta.region_name]
    ]
    month = this_month()
    found, not_asked = _content_of_places(places, role, home, month)
    if as_json:
        print(json.dumps(found + not_asked, indent=2))
    else:
        _print(found, not_asked, places, home, month)
    return 2 if not_asked else 0


def _content_of_places(
    places: Sequence[Place], role: str | None, home: Clients, month: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the members of each service, and what was not asked: places and services, with the reason."""
    clients = clients_of(places, role, home)

    def stacks_of(place: Place) -> list[DeployedStack] | NotAsked:
        there = clients[place]
        return there if isinstance(there, NotAsked) else list(deployed_stacks(there))

    answers = list(zip(places, side_by_side(stacks_of, places), strict=True))
    stacks = [stack for _, each in answers if not isinstance(each, NotAsked) for stack in each]
    contents = list(zip(stacks, side_by_side(partial(content_of, month=month), stacks), strict=True))
    found = [each for _, each in contents if not isinstance(each, NotAsked)]
    not_asked = [place._asdict() | {"not_asked": each.why} for place, each in answers if isinstance(each, NotAsked)]
    not_asked += [
        {"account": stack.account, "region": stack.region, "name": stack.name, "not_asked": each.why}
        for stack, each in contents
        if isinstance(each, NotAsked)
    ]
    return sorted(found, key=lambda each: (each["account"], each["region"], each["name"])), not_asked


def _print(
    found: list[dict[str, Any]],
    not_asked: list[dict[str, Any]],
    places: Sequence[Place],
    home: Clients,
    month: datetime,
) -> None:
    if here := local_cloud(home):
        print(f"This is the local cloud at {here}: the prices are AWS's, and nothing is spent.", file=sys.stderr)
    for each in [*not_asked, *found]:
        if problem := _problem(each, is_only=len(places) == 1):
            print(problem, file=sys.stderr)
    if not found:
        if not not_asked:
            where = " and ".join(dict.fromkeys(place.region for place in places))
            print(f"Slipway has deployed nothing in {where}.", file=sys.stderr)
        return
    columns = header(month)
    rows = [(each, Figures.of(each)) for each in found]
    if len(places) == 1:
        table = [(*_cells(each, _HEADER), *figures.cells) for each, figures in rows]
        figures_of_all = [*(figures for _, figures in rows), *[None] * len(not_asked)]
        sums = [("total", *[""] * (len(_HEADER) - 1), *total(figures_of_all).cells)] if len(rows) > 1 else []
        print_table((*_HEADER, *columns), [*table, *sums], right=columns, width=_WIDTH)
        return
    table = [(*_cells(each, _OF_PLACES), *figures.cells) for each, figures in rows]
    print_table((*_OF_PLACES, *columns), table, right=columns)
    print()
    print_places([(_place(each), figures) for each, figures in [*rows, *((each, None) for each in not_asked)]], month)


def _place(content: dict[str, Any]) -> Place:
    return Place(content["account"], content["region"])


def _cells(content: dict[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(content[name.lower()] or "-" for name in names)


def _problem(content: dict[str, Any], *, is_only: bool) -> str:
    """Return why something of a place or a service is not known; empty = all is known."""
    if "mode" in content and content["mode"] is None:
        return str(content["cost"])
    if not (why := content["not_asked"]) or (is_only and "name" not in content):
        return why or ""
    where = "" if is_only else f" in {content['region']} of account {content['account']}"
    return f"{content.get('name', 'Deployments')}{where}: not asked: {why}"

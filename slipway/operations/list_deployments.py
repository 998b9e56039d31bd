"""Lists the deployments of an account and region."""

import json
import sys
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.shared.aws_clients import clients_in, local_cloud
from slipway.shared.table import print_table
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, asking_aws, deployed_stacks

_HEADER = ("NAME", "STATUS", "SERVES", "MODE", "USD/H NOW")
_WIDTH = 100


def run(region: str | None, *, as_json: bool) -> int:
    """Print the list. Returns exit status 0 also if it is empty."""
    return asking_aws(lambda: _list(region, as_json=as_json))


def _list(region: str | None, *, as_json: bool) -> int:
    clients = clients_in(region)
    found = [_content(stack) for stack in sorted(deployed_stacks(clients), key=lambda stack: stack.name)]
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    if here := local_cloud(clients):
        print(f"This is the local cloud at {here}: the prices are AWS's, and nothing is spent.", file=sys.stderr)
    if not found:
        print(f"Slipway has deployed nothing in {clients('sts').meta.region_name}.", file=sys.stderr)
        return 0
    for each in found:
        if each["mode"] is None:
            print(each["cost"], file=sys.stderr)
    rows = [
        (each["name"], each["status"], each["serves"], each["mode"] or "-", _dollars(each["usd_per_hour"]))
        for each in found
    ]
    print_table(_HEADER, rows, right=_HEADER[-1:], width=_WIDTH)
    return 0


def _content(stack: DeployedStack) -> dict[str, Any]:
    """Return the members of one deployment.

    mode: None = the stack does not tell it, and `cost` says so. version: of the Slipway that made the stack; empty =
    not told. usd_per_hour: the price of what runs now; None = not known.
    """
    content: dict[str, Any] = {"name": stack.name, "status": stack.status, "serves": stack.serves}
    try:
        hosting = hosting_of(stack)
    except UnknownStackError as error:
        return content | {"mode": None, "version": "", "cost": str(error), "usd_per_hour": None}
    state = hosting.state()
    return content | {
        "mode": stack.label.mode,
        "version": stack.label.version,
        "cost": hosting.cost(state),
        "usd_per_hour": state["usd_per_hour"],
    }


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.2f}"

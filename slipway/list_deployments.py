"""`python -m slipway list`: the deployments of an account and region."""

import json
import sys
from typing import Any

from slipway.aws_clients import clients_in
from slipway.deployed_stack import DeployedStack, asking_aws, deployed_stacks
from slipway.hosting.hosting import hosting_of


def run(region: str | None, *, as_json: bool) -> int:
    """Exit status 0 also where there is none."""
    return asking_aws(lambda: _list(region, as_json=as_json))


def _list(region: str | None, *, as_json: bool) -> int:
    clients = clients_in(region)
    found = [_content(stack) for stack in sorted(deployed_stacks(clients), key=lambda stack: stack.name)]
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    if not found:
        print(f"Slipway has deployed nothing in {clients('sts').meta.region_name}.", file=sys.stderr)
        return 0
    rows = [[each["name"], each["status"], each["serves"], each["mode"] or "", each["cost"]] for each in found]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _content(stack: DeployedStack) -> dict[str, Any]:
    """mode: None = nothing runs the model."""
    hosting = hosting_of(stack)
    cost = hosting.cost(hosting.state())
    return {
        "name": stack.name,
        "status": stack.status,
        "serves": stack.serves,
        "mode": hosting.mode or None,
        "cost": cost,
    }

"""`python -m slipway list`: the deployments of an account and region."""

import json
import sys

from slipway.aws_clients import clients_in
from slipway.deployed_stack import asking_aws, deployed_stacks


def run(region: str | None, *, as_json: bool) -> int:
    """Exit status 0 also where there is none."""
    return asking_aws(lambda: _list(region, as_json=as_json))


def _list(region: str | None, *, as_json: bool) -> int:
    clients = clients_in(region)
    stacks = sorted(deployed_stacks(clients), key=lambda stack: stack.name)
    if as_json:
        print(json.dumps([_content(stack.name, stack.status, stack.serves) for stack in stacks], indent=2))
        return 0
    if not stacks:
        print(f"Slipway has deployed nothing in {clients('sts').meta.region_name}.", file=sys.stderr)
        return 0
    rows = [(stack.name, stack.status, stack.serves) for stack in stacks]
    names, statuses = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, status, serves in rows:
        print(f"{name:{names}}  {status:{statuses}}  {serves}")
    return 0


def _content(name: str, status: str, serves: str) -> dict[str, str]:
    return {"name": name, "status": status, "serves": serves}

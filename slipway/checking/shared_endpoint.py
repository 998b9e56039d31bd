"""Prints how the models of a shared endpoint find room on its instances."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llm_hosting.catalog.instances import instances
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.shared_endpoints import Occupied, load_endpoint


def run(path: Path, root: Path, *, as_json: bool, strict: bool) -> int:
    """Print the packing. Returns the exit status: 0, or 1 if the endpoint is refused or, with `strict`, warned of."""
    try:
        occupied, findings = load_endpoint(path, root)
    except DeploymentError as error:
        print(error, file=sys.stderr)
        return 1
    content = _content(occupied, findings)
    print(json.dumps(content, indent=2) if as_json else "\n".join(_lines(occupied, content)))
    return 1 if strict and findings else 0


def _content(occupied: Occupied, findings: list[Finding]) -> dict[str, Any]:
    """Return what `--json` prints. packing: the least copies on each instance, by deployment."""
    packing = occupied.packing
    assert packing, "a rule refuses unknown types"
    room, count = packing.room._asdict(), occupied.endpoint.instance_count
    return {
        "name": occupied.shared.file.removesuffix(".yaml"),
        "instance_type": occupied.endpoint.instance_type,
        "instances": {"min": count.min, "max": count.max},
        "room": room,
        "deployments": {
            name: {"copies": {"min": each.least, "max": each.most}, "of": each.need._asdict()}
            for name, each in packing.tenants.items()
        },
        "packing": [dict(each) for each in packing.at_first() or []],
        "findings": [{"field": each.field, "level": each.level, "message": each.message} for each in findings],
    }


def _lines(occupied: Occupied, content: dict[str, Any]) -> Iterator[str]:
    count, instance = occupied.endpoint.instance_count, instances()[occupied.endpoint.instance_type]
    packing = occupied.packing
    assert packing
    price = instance.price(max(count.min, 1), count.max) or "an unknown rate"
    idle = "" if count.min else ", and nothing while all models sleep"
    yield f"{content['name']}: {count.min} to {count.max} x {instance.type} with {packing.room.words} each"
    yield f"  price       {price}{idle}"
    for name, each in packing.tenants.items():
        yield f"  deployment  {name}: {each.copies} of {each.need.words}"
    if not packing.tenants:
        yield f"  deployment  none yet: set hosting.endpoint: shared/{occupied.shared.name} in a deployment file"
    for number, copies in enumerate(filter(None, content["packing"]), 1):
        yield f"  instance    {number}: {', '.join(f'{many} x {name}' for name, many in copies.items())}"
    yield from (f"  {each['level']:<11} {each['field']}: {each['message']}" for each in content["findings"])

"""Finds the deployments that run on one shared endpoint."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from .file import parse
from .lock_file import locked
from .model import Deployment
from .paths import base_of, stack_name


def tenants(endpoint: str, folder: Path, beside: Path | None = None) -> dict[str, Deployment]:
    """Return the deployments of the folder `deployments/` on a shared endpoint, by the names of their stacks.

    A base and its overlays are one service in several accounts, so that one of them counts: the overlay of the same
    name as that of `beside`, else the base, else the first overlay that names the endpoint.

    beside: a deployment file that is left out with its base and its overlays.
    """
    base = beside and (base_of(beside) or beside)
    stage = beside.stem if beside and beside != base else None
    families = [each for each in sorted(folder.glob("*.yaml")) if base is None or stack_name(each) != stack_name(base)]
    found = (next(_on(endpoint, _in_order(each, stage)), None) for each in families)
    return dict(each for each in found if each)


def in_region(deployments: Mapping[str, Deployment], region: str | None) -> dict[str, Deployment]:
    """Return those in a region: an endpoint of another region is another one. None = any region."""
    return {name: each for name, each in deployments.items() if None in (region, each.region) or each.region == region}


def _in_order(base: Path, stage: str | None) -> list[Path]:
    overlays = sorted(base.with_suffix("").glob("*.yaml"), key=lambda each: each.stem != stage)
    is_first = bool(overlays) and overlays[0].stem == stage
    return [*overlays[:1], base, *overlays[1:]] if is_first else [base, *overlays]


def _on(endpoint: str, paths: list[Path]) -> Iterator[tuple[str, Deployment]]:
    if not any(f"shared/{endpoint}" in each.read_text("utf-8", "replace") for each in paths):
        return  # most deployments have an endpoint of their own, and to parse YAML takes its time
    for path in paths:
        deployment, _, _ = parse(path)
        if deployment and deployment.shared and deployment.shared.name == endpoint:
            yield stack_name(path), locked(deployment, path)[0]

"""Describes a deployment in the lines that a synth prints: the image, the instances, the price without calls."""

import os
from collections.abc import Iterable

from ..catalog.instances import InstanceType
from ..deployment.finding import Finding
from ..deployment.model import Hosting
from .resolution import Resolution


def describe(name: str, resolution: Resolution, findings: Iterable[Finding], *, is_local: bool = False) -> list[str]:
    """Return the lines. findings: warnings and questions to print with them.

    is_local: for the local cloud, as also where AWS_ENDPOINT_URL names it for the CDK's command line.
    """
    deployment = resolution.deployment
    is_machine = deployment.hosting.runs_on_machines
    from_catalog = deployment.serving.image_uri is None and not is_machine
    host_image = "" if is_machine else f", host image {resolution.inference_ami_version or 'by default'}"
    return [
        f"{name}: {deployment.model.id} on {deployment.serving.engine} {resolution.version or 'of an own image'}",
        f"  image     {resolution.image}{' from the image account of the region' if from_catalog else ''}",
        f"  instance  {_instances(resolution)}{host_image}{_others(deployment.hosting)}",
        *([] if is_machine else [f"  endpoint  {name}-<first 8 characters of the stack id>"]),
        f"  cost      {cost(resolution, is_local=is_local or _deploys_locally())}",
        *(f"  {each.level:<9} {each.place}: {each.message}" for each in findings if each.level != "note"),
    ]


def _deploys_locally() -> bool:
    return "//127.0.0.1:" in os.environ.get("AWS_ENDPOINT_URL", "")


def _instances(resolution: Resolution) -> str:
    count, instance = resolution.deployment.hosting.instance_count, resolution.placements[0].instance
    counts = f"{count.min} to {count.max}" if count.is_scaled else f"{count.min}"
    return f"{counts} x {instance.type} ({_hardware(instance)})"


def _others(hosting: Hosting) -> str:
    return f", otherwise {', '.join(hosting.instance_types[1:])}" if hosting.instance_types[1:] else ""


def cost(resolution: Resolution, *, is_local: bool = False) -> str:
    """Return the price of what runs, in words."""
    return f"{'nothing here; on AWS ' if is_local else ''}{_on_aws(resolution)}"


def _on_aws(resolution: Resolution) -> str:
    hosting, instance = resolution.deployment.hosting, resolution.placements[0].instance
    count = hosting.instance_count
    price = instance.price(max(count.min, 1), count.max) or "an unknown rate"
    if hosting.runs_on_machines:
        return f"{price} while there is work, and {hosting.idle_minutes} minutes longer; then the disk alone"
    if count.min:
        return f"{price} until the stack is destroyed: the count never reaches zero"
    return f"{price} while jobs run: the count goes to zero when idle, and the next job waits for a start"


def _hardware(instance: InstanceType) -> str:
    if instance.kind == "cpu":
        return f"{instance.vcpu} vCPU, {instance.memory_in_gib} GiB"
    memory = (instance.accelerator_memory_in_mib or 0) // 1024
    return f"{instance.accelerator_count} x {instance.accelerator}, {memory} GiB each"

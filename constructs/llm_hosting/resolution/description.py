"""Describes a deployment in the lines that a synth prints: the image, the instances, the price without calls."""

import os
from collections.abc import Iterable

from .. import COMPONENT_ENDPOINT_SUFFIX
from ..catalog.instances import InstanceType
from ..deployment.finding import Finding
from ..deployment.settings.hosting import Hosting
from .aws_services import endpoints_in_words
from .idle import AWAKE_AFTER_A_CALL_IN_MINUTES
from .resolution import Resolution


def describe(name: str, resolution: Resolution, findings: Iterable[Finding], *, is_local: bool = False) -> list[str]:
    """Return the lines. findings: warnings and questions to print with them.

    is_local: for the local cloud, as also where AWS_ENDPOINT_URL names it for the CDK's command line.
    """
    deployment = resolution.deployment
    is_machine = deployment.hosting.runs_on_machines
    from_catalog = deployment.serving.image_uri is None and not is_machine
    suffix = COMPONENT_ENDPOINT_SUFFIX if deployment.uses_components else ""
    own_endpoint = f"{name}-<first 8 characters of the stack id>{suffix}"
    host_image = "" if is_machine else f", host image {resolution.inference_ami_version or 'by default'}"
    return [
        f"{name}: {deployment.model.id} on {deployment.serving.engine} {resolution.version or 'of an own image'}",
        f"  image     {resolution.image}{' from the image account of the region' if from_catalog else ''}",
        f"  instance  {_instances(resolution)}{host_image}{_others(deployment.hosting)}",
        *([] if is_machine else [f"  endpoint  {deployment.hosting.endpoint or own_endpoint}"]),
        f"  cost      {cost(resolution, is_local=is_local or _deploys_locally())}",
        *([f"  network   {network}"] if (network := endpoints_in_words(deployment)) else []),
        *(f"  {each.level:<9} {each.place}: {each.message}" for each in findings if each.level != "note"),
    ]


def _deploys_locally() -> bool:
    return "//127.0.0.1:" in os.environ.get("AWS_ENDPOINT_URL", "")


def _instances(resolution: Resolution) -> str:
    deployment, instance = resolution.deployment, resolution.placements[0].instance
    least, most = deployment.least_instances, deployment.instance_count.max
    counts = f"{least} to {most}" if least < most else f"{least}"
    return f"{counts} x {instance.type} ({_hardware(instance)})"


def _others(hosting: Hosting) -> str:
    return f", otherwise {', '.join(hosting.instance_types[1:])}" if hosting.instance_types[1:] else ""


def cost(resolution: Resolution, *, is_local: bool = False) -> str:
    """Return the price of what runs, in words."""
    return f"{'nothing here; on AWS ' if is_local else ''}{_on_aws(resolution)}"


def _on_aws(resolution: Resolution) -> str:
    hosting, instance = resolution.deployment.hosting, resolution.placements[0].instance
    count = resolution.deployment.instance_count
    price = instance.price(max(count.min, 1), count.max) or "an unknown rate"
    if hosting.endpoint:
        return f"{price} for all models of {hosting.endpoint}" + ("" if count.min else " while one of them is awake")
    if hosting.runs_on_machines:
        return f"{price} while there is work, and {hosting.idle_minutes} minutes longer; then the disk alone"
    if hosting.sleeps:
        awake = f"from a call until about {AWAKE_AFTER_A_CALL_IN_MINUTES} minutes after the last one{_kept(hosting)}"
        return f"{price} while awake: {awake}; asleep it bills nothing by the hour"
    if count.min:
        return f"{price} until the stack is destroyed: the count never reaches zero"
    return f"{price} while jobs run: the count goes to zero when idle, and the next job waits for a start"


def _kept(hosting: Hosting) -> str:
    hours = hosting.awake_hours
    return f", and in the hours from {hours.start} to {hours.end} of hosting.idle" if hours else ""


def _hardware(instance: InstanceType) -> str:
    if instance.kind == "cpu":
        return f"{instance.vcpu} vCPU, {instance.memory_in_gib} GiB"
    memory = (instance.accelerator_memory_in_mib or 0) // 1024
    return f"{instance.accelerator_count} x {instance.accelerator}, {memory} GiB each"

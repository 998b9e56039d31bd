"""Lines for people that a synth prints: the image, the instances, the price while nobody calls."""

from collections.abc import Iterable

from ..catalog.instances import Instance
from ..finding import Finding
from .resolution import Resolution


def describe(name: str, resolution: Resolution, findings: Iterable[Finding]) -> list[str]:
    """Of a resolution without errors; findings: warnings and questions to print with it."""
    deployment, hosting = resolution.deployment, resolution.deployment.hosting
    count, instance = hosting.instance_count, resolution.placements[0].instance
    counts = f"{count.min} to {count.max}" if count.is_scaled else f"{count.min}"
    price = instance.price(max(count.min, 1), count.max) or "an unknown rate"
    if count.min:
        cost = f"{price} until the stack is destroyed: the count never reaches zero"
    else:
        cost = f"{price} while jobs run: the count goes to zero when idle, and the next job waits for a start"
    catalog_image = deployment.serving.image_uri is None
    others = f", else {', '.join(hosting.instance_types[1:])}" if hosting.instance_types[1:] else ""
    return [
        f"{name}: {deployment.model.id} on {deployment.serving.engine} {resolution.version or 'of an own image'}",
        f"  image     {resolution.image}{' from the image account of the region' if catalog_image else ''}",
        f"  instance  {counts} x {instance.type} ({_hardware(instance)}), "
        f"host image {resolution.inference_ami_version or 'by default'}{others}",
        f"  endpoint  {name}-<first 8 characters of the stack id>",
        f"  cost      {cost}",
        *(f"  {each.level:<9} {each.field}: {each.message}" for each in findings if each.level != "note"),
    ]


def _hardware(instance: Instance) -> str:
    if instance.kind == "cpu":
        return f"{instance.vcpu} vCPU, {instance.memory_in_gib} GiB"
    memory = (instance.accelerator_memory_in_mib or 0) // 1024
    return f"{instance.accelerator_count} x {instance.accelerator}, {memory} GiB each"

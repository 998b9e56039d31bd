"""What a deployment resolves to once the catalog is asked: image, host image, container settings, request schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .catalog.engines import EngineVersion, engine
from .catalog.instances import Instance, instances
from .container_settings import container_settings, image_version, machine
from .deployment import Deployment

GPU_4_1_FAMILIES = {"g4dn", "g5", "g6", "g6e", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en"}
# sagemaker-serve 1.27.0's list; g7 and g7e from aws-samples/sagemaker-genai-hosting-examples (2026-08)


@dataclass(frozen=True)
class Resolution:
    """The catalog's answer to a deployment.

    image: `repository:tag` in AWS's image account, or the whole URI when the deployment names one.
    properties: lines of the serving.properties of an archive; None = the model data needs none.
    """

    image: str
    version: str
    inference_ami_version: str | None
    environment: dict[str, str]
    properties: dict[str, str] | None
    bodies: tuple[str, ...]
    parameters: Mapping[str, Mapping[str, float]]


def resolve(deployment: Deployment) -> Resolution:
    """Answer for settings that passed the preflight.

    Raises KeyError for an engine version that the catalog does not know.
    """
    serving = deployment.serving
    version = _spoken(deployment)
    settings = container_settings(deployment)
    return Resolution(
        image=serving.image_uri or (f"{version.repository}:{version.tag}" if version.tag else ""),
        version="" if serving.image_uri else version.label,
        inference_ami_version=resolved_inference_ami(deployment),
        environment=settings.environment,
        properties=settings.properties,
        bodies=version.bodies,
        parameters=engine(serving.engine).parameters,
    )


def _spoken(deployment: Deployment) -> EngineVersion:
    """The version whose request bodies the image takes."""
    serving = deployment.serving
    known = engine(serving.engine)
    if serving.engine == "custom":  # whatever its owner calls its versions
        return known.versions[known.default_version]
    named = None if serving.version else image_version(deployment)
    spoken = named or known.version(serving.version, machine(deployment.hosting))
    if spoken is None:
        raise KeyError(serving.version)
    return spoken


def describe(name: str, deployment: Deployment) -> list[str]:
    """Lines for people: what the deployment became and what it costs while nobody calls."""
    resolution, hosting = resolve(deployment), deployment.hosting
    count, instance = hosting.instance_count, instances()[hosting.instance_types[0]]
    counts = f"{count.min} to {count.max}" if count.is_scaled else f"{count.min}"
    billed = max(count.min, 1)
    price = f", about {billed * instance.usd_per_hour:.2f} USD an hour" if instance.usd_per_hour else ""
    if count.min:
        cost = f"bills every hour until the stack is destroyed{price}: the count never reaches zero"
    else:
        cost = f"bills while jobs run{price}; the count goes to zero when idle, and the next job waits for a start"
    catalog_image = deployment.serving.image_uri is None
    others = f", else {', '.join(hosting.instance_types[1:])}" if hosting.instance_types[1:] else ""
    return [
        f"{name}: {deployment.model.id} on {deployment.serving.engine} {resolution.version or 'of an own image'}",
        f"  image     {resolution.image}{' from the image account of the region' if catalog_image else ''}",
        f"  instance  {counts} x {instance.type} ({_hardware(instance)}), "
        f"host image {resolution.inference_ami_version or 'by default'}{others}",
        f"  endpoint  {name}-<first 8 characters of the stack id>",
        f"  cost      {billed} x {instance.type} {cost}",
    ]


def _hardware(instance: Instance) -> str:
    if instance.kind == "cpu":
        return f"{instance.vcpu} vCPU, {instance.memory_in_gib} GiB"
    memory = (instance.accelerator_memory_in_mib or 0) // 1024
    return f"{instance.accelerator_count} x {instance.accelerator}, {memory} GiB each"


def container_cuda(deployment: Deployment) -> int | None:
    """Major version of CUDA in the container; None = none, or the image does not say."""
    version = image_version(deployment)
    if version:
        return int(version.cuda) if version.cuda else None
    named = re.search(r"cu(\d{2})\d", deployment.serving.image_uri or "")
    return int(named[1]) if named else None


def resolved_inference_ami(deployment: Deployment) -> str | None:
    """A container on an older driver dies without a log line, so the host image follows the container's CUDA."""
    hosting, cuda = deployment.hosting, container_cuda(deployment)
    known = [instances()[name] for name in hosting.instance_types if name in instances()]
    if hosting.inference_ami_version or not known or any(instance.kind != "gpu" for instance in known):
        return hosting.inference_ami_version
    if cuda == 13 and all(instance.family.removeprefix("ml.") in GPU_4_1_FAMILIES for instance in known):
        return "al2023-ami-sagemaker-inference-gpu-4-1"
    if cuda == 12 and any(instance.default_driver == "470" for instance in known):
        return "al2-ami-sagemaker-inference-gpu-3-1"
    return None

"""The container image of a deployment, and the host image that its CUDA needs."""

import re

from ..catalog.engines import EngineVersion, Machine, engine, find_image
from ..catalog.instances import InstanceType
from ..catalog.newer_version import newer_version
from ..deployment.settings.hosting import Hosting, settings_of_instances
from ..deployment.settings.serving import Serving
from ..deployment.settings.shared_endpoint import SharedEndpoint

GPU_4_1_FAMILIES = {"g4dn", "g5", "g6", "g6e", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en"}
# sagemaker-serve 1.27.0's list; g7 and g7e from aws-samples/sagemaker-genai-hosting-examples (2026-08)
# Public parameter of Amazon Linux (its User Guide, "Launch the latest Amazon Linux AMI"); + x86_64 or arm64.
_MACHINE_IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-"


def image_version(serving: Serving, machine: Machine | None) -> EngineVersion | None:
    """Return the catalog's row of the image, or that of a newer version of it; None = neither is known."""
    if serving.image_uri:
        return find_image(serving.image_uri, serving.engine)
    known = engine(serving.engine)
    found = known.version(serving.version, machine)
    return found or (newer_version(known, serving.version, machine) if serving.version else None)


def container_image(serving: Serving, version: EngineVersion | None) -> str:
    """Return the image of the deployment, or of the catalog's version; empty = neither is known."""
    return serving.image_uri or (f"{version.repository}:{version.tag}" if version and version.tag else "")


def machine_image(instances: list[InstanceType]) -> str:
    """Return the SSM reference to Amazon Linux 2023 for the processor, which EC2 resolves; empty = unknown type."""
    return f"{_MACHINE_IMAGE}{instances[0].arch}" if instances else ""


def schema_version(serving: Serving, version: EngineVersion | None, machine: Machine | None) -> EngineVersion:
    """Return the catalog's row for the request bodies; for an unknown image the engine's default version."""
    known = engine(serving.engine)
    if serving.engine == "custom":  # the owner of an image may name versions freely
        return known.versions[known.default_version]
    if serving.image_uri and serving.version:
        version = known.version(serving.version, machine)
    return version or known.default(machine)


def needs_archive(serving: Serving, version: EngineVersion | None) -> bool:
    """Whether model data must hold a handler, or settings that the container reads only from a file."""
    return serving.handler is not None or (version is not None and version.settings_in == "archive")


def cuda_of(serving: Serving, version: EngineVersion | None) -> float | None:
    """Return the container's CUDA, such as 12.8, or 12 if an own image's tag names it; None = none, or not named."""
    if version:
        return version.cuda
    named = re.search(r"cu(\d{2})\d", serving.image_uri or "")
    return float(named[1]) if named else None


def host_image(hosting: Hosting, instances: list[InstanceType], cuda: float | None) -> str | None:
    """Return the setting, or the image that the container's CUDA needs; None = SageMaker's default.

    On an older driver a container ends without a log line.
    """
    if hosting.inference_ami_version or not instances or any(instance.kind != "gpu" for instance in instances):
        return hosting.inference_ami_version
    major = int(cuda or 0)
    if major == 13 and all(instance.family.removeprefix("ml.") in GPU_4_1_FAMILIES for instance in instances):
        return "al2023-ami-sagemaker-inference-gpu-4-1"
    if major == 12 and any(instance.default_driver == "470" for instance in instances):
        return "al2-ami-sagemaker-inference-gpu-3-1"
    return None


def shared_host_image(endpoint: SharedEndpoint, instances: list[InstanceType]) -> str | None:
    """Return the setting, or the image with the newest driver that the type takes: it runs older CUDA, too."""
    hosting = settings_of_instances(endpoint)
    return host_image(hosting, instances, 13) or host_image(hosting, instances, 12)

"""What a deployment resolves to once the catalog is asked: image, host image, container environment, request schema."""

import re
from dataclasses import dataclass
from typing import Any

from .catalog.engines import engine
from .catalog.instances import instances
from .deployment import Deployment, Hosting, Serving

WEIGHTS_FOLDER = "/opt/ml/model"  # where SageMaker puts uncompressed S3 data
REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint
GPU_4_1_FAMILIES = {"g4dn", "g5", "g6", "g6e", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en"}
# sagemaker-serve 1.27.0's list; g7 and g7e from aws-samples/sagemaker-genai-hosting-examples (2026-08)


@dataclass(frozen=True)
class Resolution:
    """The catalog's answer to a deployment.

    image: `repository:tag` in AWS's image account, or the whole URI when the deployment names one.
    """

    image: str
    version: str
    inference_ami_version: str | None
    environment: dict[str, str]
    bodies: tuple[str, ...]
    parameters: dict[str, dict[str, float]]


def resolve(deployment: Deployment) -> Resolution:
    """Answer for settings that passed the preflight.

    Raises KeyError for an engine version that the catalog does not know.
    """
    serving = deployment.serving
    known = engine(serving.engine)
    version = known.versions[serving.version or known.default_version]
    return Resolution(
        image=serving.image_uri or f"{known.repository}:{version.tag}",
        version="" if serving.image_uri else version.label,
        inference_ami_version=resolved_inference_ami(serving, deployment.hosting),
        environment={**derived_environment(deployment), **serving.environment},
        bodies=version.bodies,
        parameters=known.parameters,
    )


def describe(name: str, deployment: Deployment) -> list[str]:
    """Lines for people: what the deployment became and what it costs while nobody calls."""
    resolution = resolve(deployment)
    count, instance = deployment.hosting.instance_count, instances()[deployment.hosting.instance_type]
    counts = f"{count.min} to {count.max}" if count.is_scaled else f"{count.min}"
    billed = max(count.min, 1)
    price = f", about {billed * instance.usd_per_hour:.2f} USD an hour" if instance.usd_per_hour else ""
    if count.min:
        cost = f"bills every hour until the stack is destroyed{price}: the count never reaches zero"
    else:
        cost = f"bills while jobs run{price}; the count goes to zero when idle, and the next job waits for a start"
    catalog_image = deployment.serving.image_uri is None
    memory = (instance.accelerator_memory_in_mib or 0) // 1024
    accelerators = f"{instance.accelerator_count} x {instance.accelerator}, {memory} GiB each"
    return [
        f"{name}: {deployment.model.id} on {deployment.serving.engine} {resolution.version or 'of an own image'}",
        f"  image     {resolution.image}{' from the image account of the region' if catalog_image else ''}",
        f"  instance  {counts} x {instance.type} ({accelerators}), "
        f"host image {resolution.inference_ami_version or 'by default'}",
        f"  endpoint  {name}-<first 8 characters of the stack id>",
        f"  cost      {billed} x {instance.type} {cost}",
    ]


def invocation_timeout_in_seconds(deployment: Deployment) -> int:
    """How long the model may take for one job."""
    if deployment.hosting.mode == "realtime":
        return REALTIME_TIMEOUT_IN_SECONDS
    return deployment.jobs.invocation_timeout_in_seconds


def derived_environment(deployment: Deployment) -> dict[str, str]:
    """The container's variables that follow from other settings."""
    model, serving, hosting = deployment.model, deployment.serving, deployment.hosting
    instance = instances().get(hosting.instance_type)
    degree = serving.tensor_parallel_degree or (instance.accelerator_count if instance else 1)
    source = WEIGHTS_FOLDER if model.weights else model.id
    length = serving.max_model_len
    if serving.engine == "tgi":
        settings: dict[str, Any] = {
            "HF_MODEL_ID": source,
            "HF_MODEL_REVISION": model.revision,
            "SM_NUM_GPUS": degree,
            "MAX_TOTAL_TOKENS": length,
        }
        if length and (serving.version or engine("tgi").default_version) < "3":
            # Before 3.0 TGI ends at once unless input < total and prefill >= input; its defaults are 1024 and 4096.
            settings |= {"MAX_INPUT_LENGTH": length - 1, "MAX_BATCH_PREFILL_TOKENS": max(4096, length)}
    else:
        settings = {
            "HF_MODEL_ID": source,
            "HF_REVISION": model.revision,
            "TENSOR_PARALLEL_DEGREE": degree,
            "OPTION_MAX_MODEL_LEN": length,
            "SERVING_FAIL_FAST": "true",  # a load error ends the container instead of using up the start-up timeout
        }
        if hosting.mode == "async":
            settings["PREDICT_TIMEOUT"] = invocation_timeout_in_seconds(deployment)  # the image's own is 240
    return {name: str(value) for name, value in settings.items() if value is not None}


def container_cuda(serving: Serving) -> int | None:
    """Major version of CUDA in the container; None = the image does not say."""
    if serving.image_uri is None:
        known = engine(serving.engine)
        version = known.versions.get(serving.version or known.default_version)
        return int(version.cuda) if version else None
    named = re.search(r"cu(\d{2})\d", serving.image_uri)
    return int(named[1]) if named else None


def resolved_inference_ami(serving: Serving, hosting: Hosting) -> str | None:
    """A container on an older driver dies without a log line, so the host image follows the container's CUDA."""
    instance, cuda = instances().get(hosting.instance_type), container_cuda(serving)
    if hosting.inference_ami_version or instance is None or instance.kind != "gpu":
        return hosting.inference_ami_version
    if cuda == 13 and instance.family.removeprefix("ml.") in GPU_4_1_FAMILIES:
        return "al2023-ami-sagemaker-inference-gpu-4-1"
    if cuda == 12 and instance.default_driver == "470":
        return "al2-ami-sagemaker-inference-gpu-3-1"
    return None

"""The rules: each is a small pure function of a deployment that yields findings."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ..catalog.engines import engine
from ..catalog.instances import instances
from ..catalog.regions import container_accounts
from ..deployment import Deployment


@dataclass(frozen=True)
class Finding:
    """What a rule has to say. Errors stop the synth, warnings print; `field` is the path in the deployment file."""

    rule: str
    level: Literal["error", "warning"]
    field: str
    message: str


_SECRET_VALUE = re.compile(r"\bhf_[A-Za-z]{8,}|\bAKIA[0-9A-Z]{16}\b")
_SECRET_NAME = re.compile(r"(^|_)(HF|HUB|API|AUTH|ACCESS|BEARER)_(TOKEN|KEY)$|SECRET|PASSWORD")

Rule = Callable[[Deployment], Iterator[Finding]]


def known_engine_version(deployment: Deployment) -> Iterator[Finding]:
    """`serving.version` is in the catalog."""
    serving = deployment.serving
    versions = engine(serving.engine).versions
    if serving.version is not None and serving.version not in versions:
        yield Finding(
            "known-engine-version",
            "error",
            "serving.version",
            f"{serving.version!r} is not a version of {serving.engine}; use {_nearest(serving.version, versions)}.",
        )


def known_instance_type(deployment: Deployment) -> Iterator[Finding]:
    """`hosting.instance_type` is an endpoint type of the catalog."""
    name = deployment.hosting.instance_type
    if name not in instances():
        yield Finding(
            "known-instance-type",
            "error",
            "hosting.instance_type",
            f"{name!r} is not in the catalog of endpoint types; use {_nearest(name, instances())} "
            "or add it to constructs/llm_hosting/catalog/instances.json.",
        )


def gpu_image_on_gpu_type(deployment: Deployment) -> Iterator[Finding]:
    """Both engines are built for NVIDIA GPUs."""
    instance = instances().get(deployment.hosting.instance_type)
    if instance and instance.kind != "gpu":
        yield Finding(
            "gpu-image-on-gpu-type",
            "error",
            "hosting.instance_type",
            f"{instance.type!r} has no NVIDIA GPU ({instance.accelerator or 'CPU only'}), but the image of "
            f"{deployment.serving.engine} is built for CUDA; use a GPU type such as ml.g5.xlarge or ml.g6.2xlarge.",
        )


def degree_fits_instance(deployment: Deployment) -> Iterator[Finding]:
    """The tensor parallel degree is at most the number of accelerators."""
    instance, degree = instances().get(deployment.hosting.instance_type), deployment.serving.tensor_parallel_degree
    if instance and instance.kind == "gpu" and degree and degree > instance.accelerator_count:
        yield Finding(
            "degree-fits-instance",
            "error",
            "serving.tensor_parallel_degree",
            f"{degree} is more than the {instance.accelerator_count} accelerator(s) of {instance.type}; "
            f"use at most {instance.accelerator_count} or a larger type.",
        )


def no_volume_beside_nvme(deployment: Deployment) -> Iterator[Finding]:
    """SageMaker refuses volume size and volume key on types with a local NVMe disk."""
    hosting = deployment.hosting
    instance = instances().get(hosting.instance_type)
    if instance is None or instance.volume_size_allowed is not False:
        return
    disk = f"its own NVMe disk ({instance.local_nvme_in_gb:,} GB)" if instance.local_nvme_in_gb else "its own NVMe disk"
    for field in ("volume_size_in_gb", "volume_kms_key_arn"):
        if (value := getattr(hosting, field)) is not None:
            yield Finding(
                "no-volume-beside-nvme",
                "error",
                f"hosting.{field}",
                f"{value} is refused on {instance.type}, which has {disk}; remove the setting.",
            )


def count_is_a_range(deployment: Deployment) -> Iterator[Finding]:
    """1 <= min <= max; a real-time endpoint can't wake from zero."""
    count = deployment.hosting.instance_count
    if count.min == 0:
        yield Finding(
            "count-is-a-range",
            "error",
            "hosting.instance_count.min",
            "0 is refused with mode realtime: nothing would wake the endpoint; use at least 1 "
            "(scaling to zero comes with mode async).",
        )
    if count.min > count.max:
        yield Finding(
            "count-is-a-range",
            "error",
            "hosting.instance_count.max",
            f"{count.max} is less than min ({count.min}); use {count.min} or more.",
        )


def region_has_images(deployment: Deployment) -> Iterator[Finding]:
    """The region has an image account."""
    region = deployment.region
    if region is not None and region not in container_accounts() and deployment.serving.image_uri is None:
        yield Finding(
            "region-has-images",
            "error",
            "region",
            f"{region!r} has no known account of AWS images; use {_nearest(region, container_accounts())}.",
        )


def image_is_in_region(deployment: Deployment) -> Iterator[Finding]:
    """SageMaker pulls images from the endpoint's own region only."""
    uri, region = deployment.serving.image_uri, deployment.region
    if uri and region and ".dkr.ecr.${AWS::Region}." not in uri and f".dkr.ecr.{region}." not in uri:
        yield Finding(
            "image-is-in-region",
            "error",
            "serving.image_uri",
            f"{uri!r} is not in the deployment's region {region}; write ${{AWS::Region}} for the region "
            "and copy the image there.",
        )


def image_uri_wins(deployment: Deployment) -> Iterator[Finding]:
    """A version beside an image of one's own has no effect."""
    serving = deployment.serving
    if serving.image_uri and serving.version:
        yield Finding(
            "image-uri-wins",
            "warning",
            "serving.version",
            f"{serving.version!r} only says which request bodies the image takes: serving.image_uri names the image.",
        )


def isolation_needs_weights(deployment: Deployment) -> Iterator[Finding]:
    """An isolated container can't download from the Hub."""
    if deployment.hosting.network_isolation and deployment.model.weights is None:
        yield Finding(
            "isolation-needs-weights",
            "error",
            "hosting.network_isolation",
            "true keeps the container from the Hugging Face Hub; set model.weights to an S3 prefix or use false.",
        )


def key_needs_weights(deployment: Deployment) -> Iterator[Finding]:
    """A key without weights encrypts nothing."""
    if deployment.model.weights_kms_key_arn and deployment.model.weights is None:
        yield Finding(
            "key-needs-weights",
            "error",
            "model.weights_kms_key_arn",
            "has nothing to decrypt: model.weights is not set; set it or remove the key.",
        )


def revision_needs_hub(deployment: Deployment) -> Iterator[Finding]:
    """A revision means nothing for weights in S3."""
    if deployment.model.revision and deployment.model.weights:
        yield Finding(
            "revision-needs-hub",
            "warning",
            "model.revision",
            f"{deployment.model.revision!r} has no effect: the weights come from {deployment.model.weights}.",
        )


def ami_fits_kind(deployment: Deployment) -> Iterator[Finding]:
    """A host image for Neuron does not start NVIDIA containers."""
    version = deployment.hosting.inference_ami_version
    if version and "neuron" in version:
        yield Finding(
            "ami-fits-kind",
            "error",
            "hosting.inference_ami_version",
            f"{version!r} is for Neuron types; use a gpu version or null, which derives it.",
        )


def no_secret_in_environment(deployment: Deployment) -> Iterator[Finding]:
    """The environment is plain text in the template and in DescribeModel."""
    for name, value in deployment.serving.environment.items():
        if _SECRET_VALUE.search(value) or _SECRET_NAME.search(name):
            yield Finding(
                "no-secret-in-environment",
                "error",
                f"serving.environment.{name}",
                "looks like a secret, which anyone who may describe the model could read; "
                "copy gated weights to S3 once and set model.weights instead.",
            )


def environment_fits(deployment: Deployment) -> Iterator[Finding]:
    """SageMaker's limit on all environment variables together."""
    size = sum(len(name.encode()) + len(value.encode()) for name, value in deployment.serving.environment.items())
    if size > 32_000:  # 32 KB in all, less what we derive
        yield Finding(
            "environment-fits",
            "error",
            "serving.environment",
            f"is {size:,} bytes; SageMaker takes 32 KB in all: move long values into a file beside the weights.",
        )


def hf_task_is_ignored(deployment: Deployment) -> Iterator[Finding]:
    """HF_TASK belongs to the Hugging Face inference toolkit, not to these engines."""
    if "HF_TASK" in deployment.serving.environment:
        yield Finding(
            "hf-task-is-ignored",
            "warning",
            "serving.environment.HF_TASK",
            f"has no effect on {deployment.serving.engine}; remove it.",
        )


def quota_needs_api_key(deployment: Deployment) -> Iterator[Finding]:
    """API Gateway counts quotas per API key."""
    if deployment.api.quota and deployment.api.auth != "api-key":
        yield Finding(
            "quota-needs-api-key",
            "error",
            "api.quota",
            f"needs api.auth: api-key, not {deployment.api.auth}; change one of them.",
        )


def shared_secret(deployment: Deployment) -> Iterator[Finding]:
    """An API key identifies nobody."""
    if deployment.api.auth == "api-key":
        yield Finding(
            "shared-secret",
            "warning",
            "api.auth",
            "'api-key' is a shared secret: whoever holds it can call; prefer iam where callers have AWS credentials.",
        )


def open_to_the_internet(deployment: Deployment) -> Iterator[Finding]:
    """Without authorization anybody can spend the GPU."""
    if deployment.api.auth == "none":
        yield Finding(
            "open-to-the-internet",
            "warning",
            "api.auth",
            "'none' opens the API to everybody on the internet; only the throttle limits what they spend.",
        )


RULES: tuple[Rule, ...] = (
    known_engine_version,
    known_instance_type,
    gpu_image_on_gpu_type,
    degree_fits_instance,
    no_volume_beside_nvme,
    count_is_a_range,
    region_has_images,
    image_is_in_region,
    image_uri_wins,
    isolation_needs_weights,
    key_needs_weights,
    revision_needs_hub,
    ami_fits_kind,
    no_secret_in_environment,
    environment_fits,
    hf_task_is_ignored,
    quota_needs_api_key,
    shared_secret,
    open_to_the_internet,
)


def _nearest(name: str, known: Mapping[str, object]) -> str:
    nearest = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
    return f"one of {', '.join(nearest or sorted(known))}"

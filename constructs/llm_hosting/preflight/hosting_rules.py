"""Rules over `hosting`: instance, volume, count, host image, timing."""

from collections.abc import Iterator

from ..catalog.instances import instances
from ..deployment import Deployment
from ..resolution import container_cuda, resolved_inference_ami
from .finding import error, warning
from .nearest import nearest

_CUDA_OF_AMI = {"gpu-2": 12, "gpu-2-1": 12, "gpu-3-1": 12, "gpu-4-1": 13}
MOST_ASYNC_REQUESTS = 1000
ALARM_REACTION_IN_SECONDS = 240  # two datapoints of a minute each, and what metrics are late


@error
def known_instance_type(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """`hosting.instance_type` is an endpoint type of the catalog."""
    name = deployment.hosting.instance_type
    if name not in instances():
        yield (
            "hosting.instance_type",
            f"{name!r} is not in the catalog of endpoint types; use {nearest(name, instances())} "
            "or add it to constructs/llm_hosting/catalog/instances.json.",
        )


@error
def gpu_image_on_gpu_type(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Both engines are built for NVIDIA GPUs."""
    instance = instances().get(deployment.hosting.instance_type)
    if instance and instance.kind != "gpu":
        yield (
            "hosting.instance_type",
            f"{instance.type!r} has no NVIDIA GPU ({instance.accelerator or 'CPU only'}), but the image of "
            f"{deployment.serving.engine} is built for CUDA; use a GPU type such as ml.g5.xlarge or ml.g6.2xlarge.",
        )


@error
def degree_fits_instance(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The tensor parallel degree is at most the number of accelerators."""
    instance, degree = instances().get(deployment.hosting.instance_type), deployment.serving.tensor_parallel_degree
    if instance and instance.kind == "gpu" and degree and degree > instance.accelerator_count:
        yield (
            "serving.tensor_parallel_degree",
            f"{degree} is more than the {instance.accelerator_count} accelerator(s) of {instance.type}; "
            f"use at most {instance.accelerator_count} or a larger type.",
        )


@error
def no_volume_beside_nvme(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker refuses volume size and volume key on types with a local NVMe disk."""
    hosting = deployment.hosting
    instance = instances().get(hosting.instance_type)
    if instance is None or instance.volume_size_allowed is not False:
        return
    disk = f"its own NVMe disk ({instance.local_nvme_in_gb:,} GB)" if instance.local_nvme_in_gb else "its own NVMe disk"
    for field in ("volume_size_in_gb", "volume_kms_key_arn"):
        if (value := getattr(hosting, field)) is not None:
            yield f"hosting.{field}", f"{value} is refused on {instance.type}, which has {disk}; remove the setting."


@error
def count_is_a_range(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """min <= max."""
    count = deployment.hosting.instance_count
    if count.min > count.max:
        yield "hosting.instance_count.max", f"{count.max} is less than min ({count.min}); use {count.min} or more."


@error
def zero_can_wake(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Nothing wakes a real-time endpoint: a call that finds no instance fails."""
    if deployment.hosting.instance_count.min == 0 and deployment.hosting.mode == "realtime":
        yield (
            "hosting.instance_count.min",
            "0 is refused with hosting.mode: realtime, which nothing would wake; use 1 or more, or mode: async, which "
            "wakes for a job.",
        )


@warning
def scaling_needs_a_range(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """With a fixed count nothing scales; the concurrency of an instance still bounds how many jobs run at once."""
    hosting = deployment.hosting
    bounds_jobs = {"concurrent_requests_per_instance"} if deployment.jobs.enabled else set()
    if not hosting.instance_count.is_scaled:
        for name in sorted(hosting.scaling.model_fields_set - bounds_jobs):
            yield (
                f"hosting.scaling.{name}",
                f"has no effect with a fixed count of {hosting.instance_count.min}; make max larger.",
            )


@warning
def backlog_needs_async(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Only asynchronous endpoints have a backlog that scaling can see."""
    hosting = deployment.hosting
    is_set = "backlog_per_instance" in hosting.scaling.model_fields_set
    if is_set and hosting.mode == "realtime" and hosting.instance_count.is_scaled:
        yield (
            "hosting.scaling.backlog_per_instance",
            "has no effect with hosting.mode: realtime; use concurrent_requests_per_instance.",
        )


@error
def concurrency_fits_async(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker's limit on MaxConcurrentInvocationsPerInstance."""
    requests = deployment.hosting.scaling.concurrent_requests_per_instance
    if deployment.hosting.mode == "async" and requests > MOST_ASYNC_REQUESTS:
        yield (
            "hosting.scaling.concurrent_requests_per_instance",
            f"{requests} is refused with hosting.mode: async; use at most {MOST_ASYNC_REQUESTS}.",
        )


@error
def isolation_needs_weights(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An isolated container can't download from the Hub."""
    if deployment.hosting.network_isolation and deployment.model.weights is None:
        yield (
            "hosting.network_isolation",
            "true keeps the container from the Hugging Face Hub; set model.weights to an S3 prefix or use false.",
        )


@error
def cuda_13_needs_turing(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """CUDA 13 dropped the V100's architecture (CUDA 13.0 release notes)."""
    instance, cuda = instances().get(deployment.hosting.instance_type), container_cuda(deployment.serving)
    if instance and instance.family == "ml.p3" and cuda == 13:
        yield (
            "hosting.instance_type",
            f"{instance.type!r} has V100 GPUs, which the CUDA 13 of this image no longer drives; use a newer type "
            "or an older serving.version.",
        )


@warning
def ami_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A container whose CUDA is newer than the host's driver dies without a log line."""
    serving, hosting = deployment.serving, deployment.hosting
    instance, cuda = instances().get(hosting.instance_type), container_cuda(serving)
    if instance is None or instance.kind != "gpu" or resolved_inference_ami(serving, hosting):
        return
    if cuda == 13:
        yield (
            "hosting.inference_ami_version",
            f"is not known for a CUDA 13 image on {instance.type}; find out which host image brings driver 580 or "
            "newer there and set it.",
        )
    if cuda is None and serving.image_uri:
        yield (
            "hosting.inference_ami_version",
            "can't be derived, because serving.image_uri names no CUDA version (cu128, say); set it.",
        )


@warning
def ami_fits_cuda(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Evidence on mixed CUDA majors is mixed: some pairs stay in Creating without a log line, some run."""
    version, cuda = deployment.hosting.inference_ami_version, container_cuda(deployment.serving)
    host = version and _CUDA_OF_AMI[version.partition("inference-")[2]]
    if host and cuda and host != cuda:
        yield (
            "hosting.inference_ami_version",
            f"{version!r} is made for CUDA {host}, the image for CUDA {cuda}; remove the setting to have it derived.",
        )


@warning
def lmi_on_t4(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """CUDA 12 images of LMI failed on T4 (aws/sagemaker-python-sdk#6141)."""
    hosting = deployment.hosting
    if deployment.serving.engine == "lmi-vllm" and hosting.instance_type.startswith("ml.g4dn."):
        yield (
            "hosting.instance_type",
            f"{hosting.instance_type!r} has T4 GPUs, on which LMI images were seen to fail; ml.g6.xlarge is safer.",
        )


@warning
def update_outlasts_alarms(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Before an alarm can go off, the update is over."""
    seconds = deployment.hosting.update_wait_in_seconds
    if seconds < ALARM_REACTION_IN_SECONDS:
        yield (
            "hosting.update_wait_in_seconds",
            f"{seconds} is too short for the alarms, so a bad update is not rolled back; "
            f"use {ALARM_REACTION_IN_SECONDS} or more.",
        )

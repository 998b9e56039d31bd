"""Rules over `hosting`: instance types, volume, count, timing."""

from collections.abc import Iterator

from ..catalog.instances import instances
from ..deployment import Deployment
from .finding import error, warning
from .nearest import nearest

MOST_ASYNC_REQUESTS = 1000
ALARM_REACTION_IN_SECONDS = 240  # two datapoints of a minute each, and what metrics are late


@error
def known_instance_type(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """`hosting.instance_type` is an endpoint type of the catalog."""
    for name in deployment.hosting.instance_types:
        if name not in instances():
            yield (
                "hosting.instance_type",
                f"{name!r} is not in the catalog of endpoint types; use {nearest(name, instances())} "
                "or add it to constructs/llm_hosting/catalog/instances.json.",
            )


@error
def types_of_a_pool_differ(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker refuses two pools of one type."""
    names = deployment.hosting.instance_types
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "hosting.instance_type", f"names {name} twice; remove one."


@error
def no_volume_beside_nvme(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker refuses volume size and volume key on types with a local NVMe disk."""
    hosting = deployment.hosting
    for instance in (instances()[name] for name in hosting.instance_types if name in instances()):
        if instance.volume_size_allowed is not False:
            continue
        size = f" ({instance.local_nvme_in_gb:,} GB)" if instance.local_nvme_in_gb else ""
        for field in ("volume_size_in_gb", "volume_kms_key_arn"):
            if (value := getattr(hosting, field)) is not None:
                yield (
                    f"hosting.{field}",
                    f"{value} is refused on {instance.type}, which has its own NVMe disk{size}; remove the setting.",
                )


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

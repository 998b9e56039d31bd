"""Rules over `hosting.mode: ec2`: engine, hardware, formats, counts, and SageMaker's settings that machines lack."""

import math
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.model import Deployment
from ...resolution import Resolution
from ...resolution.estimates import boot_in_seconds
from .rule import error, warning
from .suitable_type import SUCH_AS

_ENGINE = "transformers"
_SMALLEST_VOLUME_IN_GB = 8  # the snapshot of Amazon Linux 2023; EC2 refuses a smaller volume
_MOST_MACHINES = 50  # with their waits they stay below the 500 resources of a stack
# transformers loads these with packages that the machine does not have; GGUF files have a rule of their own.
_NEEDS_OTHER_PACKAGES = {"awq", "gptq", "bitsandbytes4", "bitsandbytes8"}
# A setting that a machine can't fulfil is refused; one that it only ignores is a warning.
_REFUSED = (
    ("serving", "image_uri", "there is no container"),
    ("serving", "environment", "nothing reads it"),
    ("hosting", "network_isolation", "the machine writes results and logs over the network"),
    ("model", "dtype", "the machine chooses the type by the weights and its CPU"),
    ("model", "quantization", "the machine loads weights as they are"),
)
_IGNORED = {
    "serving": ("tensor_parallel_degree", "max_batch_delay_in_ms"),
    "hosting": (
        "scaling",
        "download_timeout_in_seconds",
        "provision_timeout_in_seconds",
        "routing",
        "routing_prefix_in_bytes",
        "detailed_observability",
        "update_wait_in_seconds",
    ),
    "jobs": ("max_concurrency",),
    "alarms": ("failure_rate", "latency_in_seconds", "idle_in_hours"),
}


@error
def engine_fits_mode(resolution: Resolution) -> Iterator[Finding]:
    """Machines of EC2 have one engine, `transformers`, which has no container image for SageMaker."""
    engine, hosting = resolution.deployment.serving.engine, resolution.deployment.hosting
    if hosting.runs_on_machines and engine != _ENGINE:
        problem = f"{engine!r} is a container for SageMaker, and hosting.mode: ec2 runs no containers"
        yield Finding("serving.engine", problem, f"use {_ENGINE}, or hosting.mode: realtime")
    elif not hosting.runs_on_machines and engine == _ENGINE:
        problem = f"{engine!r} has no container image, which hosting.mode: {hosting.mode} needs"
        yield Finding("serving.engine", problem, "use hosting.mode: ec2, or the engine huggingface")


@error
def machine_computes_on_cpus(resolution: Resolution) -> Iterator[Finding]:
    """Machines compute on CPUs only, so an accelerator would cost money and stay idle."""
    for instance in (placement.instance for placement in resolution.placements):
        if _runs_on_machines(resolution) and instance.kind != "cpu":
            yield Finding(
                "hosting.instance_type",
                f"{instance.type!r} has {instance.accelerator}, but a machine of hosting.mode: ec2 computes on CPUs",
                f"use a CPU type{SUCH_AS}, or hosting.mode: realtime with ml.{instance.type}",
            )


@error
def machine_is_of_one_type(resolution: Resolution) -> Iterator[Finding]:
    """All machines are started from one launch template, which names one type."""
    types = resolution.deployment.hosting.instance_types
    if _runs_on_machines(resolution) and len(types) > 1:
        problem = f"{', '.join(types)} are {len(types)} types, but all machines of hosting.mode: ec2 have the same type"
        yield Finding("hosting.instance_type", problem, "name one")


@error
def machine_loads_format(resolution: Resolution) -> Iterator[Finding]:
    """A machine has torch for CPUs and transformers, but no package that unpacks these formats."""
    container = resolution.container
    stored = container.stored_quantization
    if _runs_on_machines(resolution) and stored in _NEEDS_OTHER_PACKAGES:
        problem = f"{container.model_id!r} holds {stored} weights, which a machine of hosting.mode: ec2 can't unpack"
        yield Finding("model.id", problem, "use the model that they were made from")


@error
def machines_are_fixed(resolution: Resolution) -> Iterator[Finding]:
    """The number of machines is fixed: each stops when idle, and all may be stopped."""
    count = resolution.deployment.hosting.instance_count
    if not _runs_on_machines(resolution):
        return
    if count.is_scaled:
        problem = f"{count.min} must equal max ({count.max}): hosting.mode: ec2 has a fixed number of machines"
        fix = f"use {{min: {count.max}, max: {count.max}}}; machines that have no work are stopped"
        yield Finding("hosting.instance_count.min", problem, fix)
    if count.max > _MOST_MACHINES:
        problem = f"{count.max} machines do not fit into one stack"
        yield Finding("hosting.instance_count.max", problem, f"use {_MOST_MACHINES} or fewer")


@error
def machine_outlasts_its_start(resolution: Resolution) -> Iterator[Finding]:
    """A machine that stops after less time than a start takes spends its time on starts."""
    minutes = resolution.deployment.hosting.idle_minutes
    for placement in resolution.placements:
        seconds = boot_in_seconds(placement)
        if _runs_on_machines(resolution) and minutes * 60 < seconds:
            problem = (
                f"{minutes} min is less than the start of {placement.instance.type}, which takes about {seconds:.0f} s"
            )
            yield Finding("hosting.idle_minutes", problem, f"use {math.ceil(seconds / 60)} or more")


@error
def volume_holds_the_system(resolution: Resolution) -> Iterator[Finding]:
    """EC2 refuses a volume that is smaller than the image's snapshot."""
    size = resolution.deployment.hosting.volume_size_in_gb
    if _runs_on_machines(resolution) and size is not None and size < _SMALLEST_VOLUME_IN_GB:
        problem = f"{size} is refused by EC2: the snapshot of Amazon Linux needs {_SMALLEST_VOLUME_IN_GB} GB"
        yield Finding("hosting.volume_size_in_gb", problem, "remove it: the default leaves room for system and weights")


@error
def machine_has_setting(resolution: Resolution) -> Iterator[Finding]:
    """A machine can't fulfil some settings of containers."""
    for section, name, reason in _REFUSED:
        if _runs_on_machines(resolution) and getattr(getattr(resolution.deployment, section), name):
            yield Finding(f"{section}.{name}", f"is refused with hosting.mode: ec2: {reason}", "remove it")


@warning
def machine_reads_setting(resolution: Resolution) -> Iterator[Finding]:
    """A machine ignores some settings of endpoints."""
    if _runs_on_machines(resolution):
        for name in _ignored(resolution.deployment):
            yield Finding(name, "has no effect with hosting.mode: ec2", "remove it")


def _ignored(deployment: Deployment) -> Iterator[str]:
    for section, names in _IGNORED.items():
        given = getattr(deployment, section).model_fields_set
        yield from (f"{section}.{name}" for name in names if name in given)


def _runs_on_machines(resolution: Resolution) -> bool:
    return resolution.deployment.hosting.runs_on_machines

"""Rules over `hosting.mode: ec2`: engine, hardware, formats, the time of a start."""

import math
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...resolution import Resolution
from ...resolution.estimates import boot_in_seconds
from .rule import error
from .suitable_type import SUCH_AS

_ENGINE = "transformers"
# transformers loads these with packages that the machine does not have; GGUF files have a rule of their own.
_NEEDS_OTHER_PACKAGES = {"awq", "gptq", "bitsandbytes4", "bitsandbytes8"}


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
def machine_loads_format(resolution: Resolution) -> Iterator[Finding]:
    """A machine has torch for CPUs and transformers, but no package that unpacks these formats."""
    container = resolution.container
    stored = container.stored_quantization
    if _runs_on_machines(resolution) and stored in _NEEDS_OTHER_PACKAGES:
        problem = f"{container.model_id!r} holds {stored} weights, which a machine of hosting.mode: ec2 can't unpack"
        yield Finding("model.id", problem, "use the model that they were made from")


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


def _runs_on_machines(resolution: Resolution) -> bool:
    return resolution.deployment.hosting.runs_on_machines

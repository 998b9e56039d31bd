"""Rules over `hosting`: instance types, volume, counts, and how devices share a copy of the model."""

from collections.abc import Iterator

from ...catalog.instances import types_for
from ...deployment.finding import Finding
from ...deployment.nearest import nearest
from ...resolution import Resolution
from ...resolution.parallelism import (
    SPLITS_HEADS,
    heads_divide,
    possible_degrees,
    replicas_set,
    spread_by,
    stages_set,
)
from .rule import error, warning
from .suitable_type import SUCH_AS

_CATALOG = "catalog/instances.json"  # of the project

# Neuron's collective operations support only these numbers of cores (huggingface/optimum-neuron#424, #619).
_NEURON_TOPOLOGIES = {
    "ml.trn1": (1, 2, 8, 16, 32),
    "ml.trn1n": (1, 2, 8, 16, 32),
    "ml.inf2": (1, 2, 3, 4, 6, 8, 10, 12, 24),
}


@error
def known_instance_type(resolution: Resolution) -> Iterator[Finding]:
    """`hosting.instance_type` is in the catalog: an endpoint type (`ml.c5.xlarge`), or EC2's own name with mode ec2."""
    hosting = resolution.deployment.hosting
    known, kind = types_for(on_machines=hosting.runs_on_machines), "EC2" if hosting.runs_on_machines else "endpoint"
    for name in hosting.instance_types:
        if name in known:
            continue
        other = name.removeprefix("ml.") if hosting.runs_on_machines else f"ml.{name}"
        fix = f"use {other}" if other in known else f"use {nearest(name, known)}, or add it to {_CATALOG}"
        yield Finding("hosting.instance_type", f"{name!r} is not in the catalog of {kind} types", fix)


@error
def no_volume_beside_nvme(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker refuses volume size and volume key on types with a local NVMe disk."""
    hosting = resolution.deployment.hosting
    for instance in (placement.instance for placement in resolution.placements):
        if instance.volume_size_allowed is not False:
            continue
        size = f" ({instance.local_nvme_in_gb:,} GB)" if instance.local_nvme_in_gb else ""
        for field in ("volume_size_in_gb", "volume_kms_key_arn"):
            if (value := getattr(hosting, field)) is not None:
                yield Finding(
                    f"hosting.{field}",
                    f"{value} is refused on {instance.type}, which has its own NVMe disk{size}",
                    "remove the setting",
                )


@error
def degree_fits_instance(resolution: Resolution) -> Iterator[Finding]:
    """Degree x pipeline stages x replicas is at most the number of accelerators; on Neuron, of their cores.

    vLLM and SGLang put each stage and each data-parallel replica on accelerators of its own (their guides to
    parallelism).
    """
    stages, replicas = stages_set(resolution.container), replicas_set(resolution.container)
    variable = spread_by(resolution.container)
    for placement in resolution.placements:
        degree, devices, instance = placement.degree, placement.devices, placement.instance
        needed, most = degree * stages * replicas, devices // (stages * replicas)
        if not devices or needed <= devices:
            continue
        kind = "NeuronCores" if instance.kind == "neuron" else "accelerator(s)"
        if not variable:
            problem = f"{degree} is more than the {devices} {kind} of {instance.type}"
            yield Finding(
                "serving.tensor_parallel_degree", problem, f"use at most {devices}, or a larger type{SUCH_AS}"
            )
            continue
        parts = {"replicas": replicas, "pipeline stages": stages}
        asked = "".join(f"{count} {part} of " for part, count in parts.items() if count > 1)
        ways = [f"fewer {part}" for part, count in parts.items() if count > 1]
        ways += [f"a degree of at most {most}"] if degree > most >= 1 else []
        yield Finding(
            f"serving.environment.{variable}",
            f"{asked}degree {degree} need {needed} {kind}; {instance.type} has {devices}",
            f"use {', or '.join(ways)}, or a larger type{SUCH_AS}",
        )


@error
def degree_is_set_for_pools(resolution: Resolution) -> Iterator[Finding]:
    """All types of a pool share one configuration, so a degree is needed if their numbers of accelerators differ."""
    container, serving = resolution.container, resolution.deployment.serving
    takes_degree = container.version is not None and "tensor_parallel_degree" in container.version.variables
    is_set = serving.tensor_parallel_degree or container.explicit_value("tensor_parallel_degree")
    counts = sorted({placement.devices for placement in resolution.placements if placement.devices})
    if takes_degree and len(counts) > 1 and not is_set:
        yield Finding(
            "serving.tensor_parallel_degree",
            f"is needed, because the types of hosting.instance_type have {', '.join(map(str, counts))} accelerators",
            f"use {counts[0]}, or types that have the same number",
        )


@error
def heads_divisible_by_degree(resolution: Resolution) -> Iterator[Finding]:
    """Tensor parallelism gives each accelerator the same number of attention heads."""
    container = resolution.container
    shape = container.shape
    if not (shape and shape.heads and container.engine in SPLITS_HEADS):
        return
    for placement in resolution.placements:
        degree, devices = placement.degree, placement.devices
        # On Neuron, engines pad heads.
        if placement.instance.kind == "neuron" or not 1 < degree <= max(devices, 1):
            continue
        if shape.heads % degree or (container.runs_vllm and not heads_divide(shape, degree)):
            fitting = possible_degrees(container, placement.instance) or [1]
            kind = f"{shape.heads} attention heads" if shape.heads % degree else f"{shape.kv_heads} key and value heads"
            yield Finding(
                "serving.tensor_parallel_degree",
                f"{degree} does not divide the {kind} of {container.model_id}",
                f"use {'one of ' if len(fitting) > 1 else ''}{', '.join(map(str, fitting))}",
            )


@error
def cores_form_a_topology(resolution: Resolution) -> Iterator[Finding]:
    """Only certain numbers of NeuronCores can share a model."""
    for placement in resolution.placements:
        known = _NEURON_TOPOLOGIES.get(placement.instance.family, ())
        if known and placement.degree not in known and placement.degree <= placement.devices:
            choices = ", ".join(str(degree) for degree in known if degree <= placement.devices)
            yield Finding(
                "serving.tensor_parallel_degree",
                f"{placement.degree} cores can't share a model on {placement.instance.type}",
                f"use one of {choices}",
            )


@warning
def captured_prompts_are_kept(resolution: Resolution) -> Iterator[Finding]:
    """Data capture keeps what callers write and read, for everybody who may read its bucket."""
    if capture := resolution.deployment.hosting.data_capture:
        yield Finding(
            "hosting.data_capture",
            f"keeps prompts and answers of {capture.percent} % of the calls for {capture.retention_in_days} days in a "
            "bucket, and the bucket stays when the stack goes",
            "tell your callers, limit who may read the bucket, and silence this warning with a reason",
        )

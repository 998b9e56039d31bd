"""Rules over the degree of tensor parallelism: accelerators, pools, heads."""

from collections.abc import Iterator

from ..container_settings import heads_divide
from ..deployment import Deployment
from .finding import error
from .plan import plans

_WITH_SHARDS = {"lmi-vllm", "lmi-deepspeed", "lmi-fastertransformer", "lmi-tensorrt-llm", "vllm", "sglang", "tgi"}


@error
def degree_fits_instance(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The tensor parallel degree is at most the number of accelerators; on Neuron, of their cores."""
    for plan in plans(deployment):
        if plan.devices and plan.degree > plan.devices:
            what = "NeuronCores" if plan.instance.kind == "neuron" else "accelerator(s)"
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} is more than the {plan.devices} {what} of {plan.instance.type}; "
                f"use at most {plan.devices} or a larger type.",
            )


@error
def degree_is_said_for_pools(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """One model configuration serves all types of a pool."""
    pool = [plan for plan in plans(deployment) if plan.version and "tensor_parallel_degree" in plan.version.variables]
    counts = sorted({plan.devices for plan in pool if plan.devices})
    said = deployment.serving.tensor_parallel_degree or any(plan.by_hand("tensor_parallel_degree") for plan in pool)
    if len(counts) > 1 and not said:
        yield (
            "serving.tensor_parallel_degree",
            f"is needed: the types of hosting.instance_type have {', '.join(map(str, counts))} accelerators; "
            f"use {counts[0]}, or types that have the same number.",
        )


@error
def heads_divisible_by_degree(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Tensor parallelism gives each accelerator the same number of attention heads."""
    for plan in plans(deployment):
        shape, degree = plan.shape, plan.degree
        if not (shape and shape.heads and plan.engine in _WITH_SHARDS and 1 < degree <= max(plan.devices, 1)):
            continue
        heads, groups = shape.heads, shape.kv_heads or shape.heads
        if heads % degree or (plan.runs_vllm and not heads_divide(shape, degree)):
            fitting = [n for n in range(1, plan.devices + 1) if heads_divide(shape, n) and plan.devices % n == 0]
            what = f"{heads} attention heads" if heads % degree else f"{groups} key and value heads"
            yield (
                "serving.tensor_parallel_degree",
                f"{degree} does not divide the {what} of {plan.model_id}; use {_one_of(fitting)}.",
            )


def _one_of(choices: list[int]) -> str:
    return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else "1"

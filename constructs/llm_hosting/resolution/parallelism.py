"""How many devices share a copy of the model: degree, stages, replicas, and by which degrees a model can be divided."""

from ..catalog.instances import ADA, InstanceType
from ..catalog.models import ModelShape
from .container import Container

# Engines that give each device its part of the attention heads.
SPLITS_HEADS = {"lmi-vllm", "lmi-deepspeed", "lmi-fastertransformer", "lmi-tensorrt-llm", "vllm", "sglang", "tgi"}
# Servers that start one copy of the model, unless data parallelism starts more.
STARTS_ONE_COPY = {"vllm", "sglang", "tgi", "tei"}
_STAGES = (
    "OPTION_PIPELINE_PARALLEL_DEGREE",
    "PIPELINE_PARALLEL_DEGREE",
    "SM_VLLM_PIPELINE_PARALLEL_SIZE",
    "SM_SGLANG_PP_SIZE",
)
_REPLICAS = (
    "SM_VLLM_DATA_PARALLEL_SIZE_LOCAL",
    "SM_VLLM_DATA_PARALLEL_SIZE",
    "OPTION_DATA_PARALLEL_SIZE",
    "SM_SGLANG_DP_SIZE",
)
_SHARES_DEVICES = "SM_SGLANG_ENABLE_DP_ATTENTION"  # the replicas of attention then lie on the devices of the degree
_EXPERT_PARALLEL = ("OPTION_ENABLE_EXPERT_PARALLEL", "SM_VLLM_ENABLE_EXPERT_PARALLEL", "SM_SGLANG_ENABLE_EP_MOE")
_EXPERT_PARALLEL_SIZE = "SM_SGLANG_EP_SIZE"
_TILE = 32  # rows; Marlin computes FP8 without FP8 cores, in tiles of 64 rows of two joined matrices


def parallel_devices(instance: InstanceType) -> int:
    """Return the devices that a degree counts: accelerators, on Neuron their cores; 0 on CPU types."""
    return (instance.neuron_cores if instance.kind == "neuron" else instance.accelerator_count) or 0


def stages_set(container: Container) -> int:
    """Return the pipeline stages that a variable sets, each on its own devices; 1 = none does."""
    return max(1, int(container.number(*_STAGES) or 1))


def replicas_set(container: Container) -> int:
    """Return the copies of the model that data parallelism puts on devices of their own; 1 = no variable sets it."""
    is_read = container.server != "djl" or container.passes_options_on
    return max(1, int(container.number(*_REPLICAS) or 1)) if is_read and not container.flag(_SHARES_DEVICES) else 1


def spread_by(container: Container) -> str:
    """Return the variable that puts the model on more devices than its degree; empty = none does."""
    names = (*(_REPLICAS if replicas_set(container) > 1 else ()), *(_STAGES if stages_set(container) > 1 else ()))
    return next((name for name in names if container.number(name)), "")


def heads_divide(shape: ModelShape | None, degree: int) -> bool:
    """Whether each of `degree` devices gets equally many heads; key and value heads may also be copied evenly."""
    heads = (shape.heads if shape else None) or 0
    groups = (shape.kv_heads if shape else None) or heads
    return heads % degree == 0 and (groups % degree == 0 or (0 < groups < degree and degree % groups == 0))


def rows_kept_whole(container: Container, instance: InstanceType) -> int | None:
    """Return how many rows of quantized weights must stay on one device; None = any split works, or not known.

    They are a block that shares a scale, or a tile of Marlin's, which computes FP8 on GPUs without FP8 cores. With
    expert parallelism each expert is whole.
    """
    shape, stored = container.shape, container.stored_quantization
    is_spread = container.flag(*_EXPERT_PARALLEL) or (container.number(_EXPERT_PARALLEL_SIZE) or 1) > 1
    splits = container.runs_vllm or container.engine in ("sglang", "tgi")
    if not shape or stored is None or not splits or not container.knows_commit or (is_spread and container.is_mixture):
        return None
    is_by_tiles = container.runs_vllm and stored == "fp8" and (instance.compute_capability or ADA) < ADA
    return shape.quantization_block or (_TILE if is_by_tiles else None)


def parts_of_rows(container: Container, degree: int) -> int:
    """Return the number of devices that split the quantized weights of a layer.

    vLLM splits experts over the replicas, too (FusedMoEParallelConfig in fused_moe/config.py).
    """
    return degree * (replicas_set(container) if container.runs_vllm and container.is_mixture else 1)


def blocks_divide(container: Container, instance: InstanceType, degree: int) -> bool:
    """Whether each device gets whole blocks of the narrowest quantized weights."""
    width, whole = container.shape and container.shape.intermediate_size, rows_kept_whole(container, instance)
    parts = parts_of_rows(container, degree)
    return parts == 1 or not width or not whole or width % (parts * whole) == 0


def possible_degrees(container: Container, instance: InstanceType) -> list[int]:
    """Return the degrees that divide the model, and the devices that stages and replicas leave; lowest first."""
    shape, devices = container.shape, parallel_devices(instance) // (stages_set(container) * replicas_set(container))
    pads = instance.kind != "gpu"
    return [
        degree
        for degree in range(1, devices + 1)
        if devices % degree == 0
        and (pads or (heads_divide(shape, degree) and blocks_divide(container, instance, degree)))
    ]


def default_degree(container: Container, instance: InstanceType) -> int:
    """Return the highest degree that divides the model; 1 for a model that the engine does not split."""
    shape, version = container.shape, container.version
    if shape and version and version.architectures and shape.architecture in version.architectures.unsplit:
        return 1
    return max(possible_degrees(container, instance), default=1)

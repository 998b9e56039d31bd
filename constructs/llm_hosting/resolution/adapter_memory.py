"""The memory that LoRA adapters take on the devices and in the host."""

from collections.abc import Iterator

from ..deployment.model import Deployment
from .adapter_variables import AT_ONCE, IN_HOST_MEMORY, PREFIXES, USUAL_RANK, locked_adapters
from .container import Container

_BYTES_PER_VALUE = 2.0  # vLLM keeps adapters in the type in which it computes (lora_dtype: auto)
# Modules whose inputs tensor parallelism divides; of all others it divides the outputs (vLLM's lora/layers).
_SPLIT_BY_INPUT = ("o_proj", "out_proj", "dense", "down_proj", "fc2", "w2", "dense_4h_to_h", "c_proj")


def takes_adapters(container: Container) -> bool:
    """Whether vLLM is told to reserve memory for adapters."""
    return container.runs_vllm and container.flag(f"{PREFIXES.get(container.server, '')}ENABLE_LORA")


def adapters_at_once(container: Container) -> int:
    """Return the number of adapters that one batch may use."""
    return int(container.number(f"{PREFIXES[container.server]}MAX_LORAS") or AT_ONCE[container.server])


def adapters_on_device(container: Container, degree: int) -> float:
    """Return the bytes that vLLM reserves on each device for adapters, as far as known.

    Every linear layer gets room for MAX_LORAS adapters of MAX_LORA_RANK, whatever modules they adapt (vLLM's
    create_lora_weights). Half of the work is not divided by tensor parallelism.
    """
    if not takes_adapters(container):
        return 0
    rank = container.number(f"{PREFIXES[container.server]}MAX_LORA_RANK") or USUAL_RANK
    values = sum(
        layers * (inputs / degree + outputs if module in _SPLIT_BY_INPUT else inputs + outputs / degree)
        for module, inputs, outputs, layers in _linear_layers(container)
    )
    size = 4.0 if container.dtype == "fp32" else _BYTES_PER_VALUE
    return adapters_at_once(container) * rank * values * size


def adapters_on_host(deployment: Deployment) -> float:
    """Return the bytes of the adapters that the host's memory holds beside the model, as far as known."""
    sizes = sorted((adapter.bytes for _, adapter in locked_adapters(deployment)), reverse=True)
    return sum(sizes[:IN_HOST_MEMORY])


def _linear_layers(container: Container) -> Iterator[tuple[str, int, int, int]]:
    """Yield module, inputs, outputs and number of the layers: of a dense model by its shape, else of the adapters."""
    shape = container.shape
    if shape and not container.is_mixture and shape.layers and shape.hidden_size and shape.heads and shape.head_size:
        hidden, queries = shape.hidden_size, shape.heads * shape.head_size
        groups, width = (shape.kv_heads or shape.heads) * shape.head_size, shape.intermediate_size or 0
        yield from (
            ("q_proj", hidden, queries, shape.layers),
            ("k_proj", hidden, groups, shape.layers),
            ("v_proj", hidden, groups, shape.layers),
            ("o_proj", queries, hidden, shape.layers),
            ("gate_proj", hidden, width, shape.layers),
            ("up_proj", hidden, width, shape.layers),
            ("down_proj", width, hidden, shape.layers),
        )
        return
    widest: dict[str, tuple[int, int, int]] = {}
    for _, adapter in locked_adapters(container.deployment):
        for module, (inputs, outputs) in adapter.modules.items():
            before = widest.get(module, (0, 0, 0))
            widest[module] = max(before[0], inputs), max(before[1], outputs), max(before[2], adapter.layers, 1)
    yield from ((module, *size) for module, size in widest.items())

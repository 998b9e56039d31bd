"""The recurrent state of hybrid models: it has a fixed size for each request, where a KV cache grows."""

import re

from ..catalog.instances import InstanceType
from ..catalog.models import ModelShape
from ..catalog.versions import is_before
from .container import Container

# From here on vLLM raises (config/compilation.py), if it captures whole steps; before, it captured fewer graphs.
_COMPARES_FROM, _EAGER = "0.20", ("SM_VLLM_ENFORCE_EAGER", "OPTION_ENFORCE_EAGER")
# With speculative decoding vLLM may not capture whole steps.
_CHANGES_BLOCKS = re.compile(
    "MAMBA|CUDAGRAPH|COMPILATION_CONFIG|OPTIMIZATION_LEVEL|NUM_GPU_BLOCKS|CACHE_MEMORY_BYTES|ATTN_GROUP_SIZE|_SPEC"
)
# DJL Serving's max_rolling_batch_size, which it hands to vLLM (LmiConfigRecommender.java).
_LMI_BATCH, _LMI_ROLLING_BATCH = 32, 256
_LARGE_BATCH, _USUAL_BATCH = 1024, 256  # max_num_seqs of vLLM's API server (get_batch_defaults in arg_utils.py)
_LARGE_GPU_IN_MIB = 70 * 1024
_SAME_SIZE = 1.5  # vLLM pads the smaller of two kinds of layers if the larger has less than 1.5 times as many


def state_of_request(shape: ModelShape | None, shards: int) -> float:
    """Return the bytes of one request's state on each device; 0 = the model has none, or it is not known."""
    return ((shape.layers_with_state or 0) * (shape.state_in_bytes or 0) if shape else 0) / shards


def block_of_request(shape: ModelShape | None, shards: int) -> float:
    """Return the least bytes that vLLM sets aside on each device for one request that may run.

    0 = the model keeps no state, or it is not known.

    vLLM cuts its memory into blocks that hold either states or keys and values, for as many layers as the rarer kind
    has (get_kv_cache_groups in kv_cache_utils.py). A block is at least as large as these states.
    """
    if not (shape and shape.layers and shape.layers_with_state and shape.state_in_bytes):
        return 0
    few, many = sorted((shape.layers, shape.layers_with_state))
    return (many if many < _SAME_SIZE * few else few) * shape.state_in_bytes / shards


def compares_blocks(container: Container) -> bool:
    """Whether vLLM demands a block for each request that may run.

    False if a setting changes the number or size of the blocks, or may switch the comparison off.
    """
    if container.vllm is None or is_before(container.vllm, _COMPARES_FROM) or container.flag(*_EAGER):
        return False
    return not any(_CHANGES_BLOCKS.search(name) for name in container.environment)


def requests_at_once(container: Container, instance: InstanceType) -> int:
    """Return how many requests vLLM may run together: as set, otherwise its default on this type."""
    if container.max_batch_size:
        return container.max_batch_size
    if container.server == "djl":
        is_rolling = container.environment.get("OPTION_ROLLING_BATCH") in ("vllm", "lmi-dist")
        return _LMI_ROLLING_BATCH if is_rolling else _LMI_BATCH
    is_large = (instance.accelerator_memory_in_mib or 0) >= _LARGE_GPU_IN_MIB
    usual = _LARGE_BATCH if is_large and "A100" not in (instance.accelerator or "") else _USUAL_BATCH
    return min(usual, int(container.number("SM_VLLM_MAX_NUM_BATCHED_TOKENS") or usual))

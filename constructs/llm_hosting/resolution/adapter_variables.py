"""The variables that let a container serve LoRA adapters."""

from collections.abc import Iterator

from ..deployment.lock import AdapterLock
from ..deployment.model import Deployment

PREFIXES = {"djl": "OPTION_", "vllm": "SM_VLLM_", "sglang": "SM_SGLANG_"}
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # vLLM's config/lora.py; 1 and 320 came last
USUAL_RANK = 16  # the default of vLLM and LMI
AT_ONCE = {"djl": 4, "vllm": 1}  # adapters in one batch, by default of LMI (vllm_rb_properties.py) and of vLLM
# More adapters than these are loaded again from the disk when they are called. None of the numbers follows from the
# number of adapters, so that adding one changes nothing of the running model.
IN_HOST_MEMORY = 32


def adapter_variables(deployment: Deployment, server: str) -> dict[str, str]:
    """Return the variables that let the engine serve `model.adapters`; none if the engine can't."""
    adapters, rank = deployment.model.adapters, str(needed_rank(deployment))
    if not adapters:
        return {}
    if deployment.has_adapter_components:
        return {
            "OPTION_ENABLE_LORA": "true",
            "OPTION_MAX_LORAS": str(AT_ONCE["djl"]),
            "OPTION_MAX_LORA_RANK": rank,
            "OPTION_MAX_CPU_LORAS": str(IN_HOST_MEMORY),
            "SAGEMAKER_MAX_NUMBER_OF_ADAPTERS_IN_MEMORY": str(IN_HOST_MEMORY),
            "SAGEMAKER_ENABLE_LOAD_AWARE": "1",
        }
    # Both images hand a variable on as one argument, which holds one adapter, NAME=PATH.
    name, source = next(iter(adapters.items()))
    path = f"{name}={source.partition('@')[0]}"
    if server == "vllm":
        return {"SM_VLLM_ENABLE_LORA": "true", "SM_VLLM_MAX_LORA_RANK": rank, "SM_VLLM_LORA_MODULES": path}
    if server == "sglang":
        return {"SM_SGLANG_LORA_PATHS": path}
    return {}


def locked_adapters(deployment: Deployment) -> Iterator[tuple[str, AdapterLock]]:
    """Yield name and facts of each adapter that the lock knows."""
    known = deployment.lock.adapters if deployment.lock else {}
    yield from ((name, known[name]) for name in deployment.model.adapters if name in known)


def needed_rank(deployment: Deployment) -> int:
    """Return the smallest rank of vLLM that holds all adapters, at least the usual one; a rule refuses larger ones."""
    taken = [adapter.rank for _, adapter in locked_adapters(deployment) if adapter.rank <= RANKS[-1]]
    return next(rank for rank in RANKS if rank >= max([*taken, USUAL_RANK]))

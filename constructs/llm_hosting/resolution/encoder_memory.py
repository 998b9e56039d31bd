"""Memory of a model that makes vectors or scores: no KV cache, but all tokens of a batch in one step."""

from ..catalog.instances import AMPERE, InstanceType
from .container import Container
from .formats import BYTES_PER_PARAMETER

TEI_BATCH_TOKENS = 16_384  # Text Embeddings Inference's own MAX_BATCH_TOKENS
_TENSORS_OF_HIDDEN, _TENSORS_OF_MLP = 8, 2  # that live at once in a layer


def keeps_cache(container: Container) -> bool:
    """Whether the engine has a KV cache: text is generated, or vLLM computes a model that could generate it."""
    is_encoder = container.shape is not None and not container.shape.architecture.endswith("ForCausalLM")
    return container.server != "tei" and (container.deployment.model.task == "generate" or not is_encoder)


def batch_tokens(container: Container) -> int:
    """Return the tokens of a step of Text Embeddings Inference."""
    given = container.explicit_value("max_batch_tokens") or container.deployment.serving.max_batch_tokens
    return int(given) if given and str(given).isdecimal() else TEI_BATCH_TOKENS


def step_in_bytes(container: Container, kind: str) -> float:
    """Return the least that the activations of one step of Text Embeddings Inference take. kind: its number format."""
    shape = container.shape
    if container.server != "tei" or shape is None:
        return 0
    width = _TENSORS_OF_HIDDEN * (shape.hidden_size or 0) + _TENSORS_OF_MLP * (shape.intermediate_size or 0)
    return batch_tokens(container) * width * BYTES_PER_PARAMETER[kind]


def attention_in_bytes(container: Container, instance: InstanceType, kind: str) -> float:
    """Return what the scores of attention take in one layer, for texts of the whole context; 0 with flash attention."""
    shape = container.shape
    has_flash = kind == "fp16" and (instance.compute_capability or 0) >= AMPERE  # with flash attention
    if container.server != "tei" or shape is None or has_flash:
        return 0
    longest = min(shape.context or 0, batch_tokens(container))
    return batch_tokens(container) * longest * (shape.heads or 0) * BYTES_PER_PARAMETER[kind]

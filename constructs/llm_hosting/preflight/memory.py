"""Whether the model fits: weights, KV cache and what the engine needs beside them, per accelerator, in bytes."""

import re
from dataclasses import dataclass

from ..catalog.engines import numbers
from ..catalog.instances import Instance
from ..catalog.model_names import foreign_format
from .formats import BYTES_PER_PARAMETER
from .plan import Plan

GB, MIB = 10**9, 2**20
_MARGIN_BY_NAME = 1.1
# What CUDA sees of what EC2 reports: ECC, reserved memory (a T4 shows 15,095 of 16,384 MiB, an A10G 22,731 of 22,888).
_SEEN = {"NVIDIA T4": 0.92}
_SEEN_OTHERWISE = 0.985
UTILIZATIONS = ("OPTION_GPU_MEMORY_UTILIZATION", "SM_VLLM_GPU_MEMORY_UTILIZATION", "CUDA_MEMORY_FRACTION")
VLLM_UTILIZATION = 0.9  # gpu_memory_utilization of vLLM; 0.92 from 0.14 on is within the margin
# Context and CUDA graphs of vLLM, and the activations of a step: the least that users report.
_OVERHEAD, _TOKENS_PER_STEP = 0.55 * GB, 2048
# Before vLLM 0.8 a step had to take a whole prompt: zephyr-7b with 32,768 tokens then needs 6 GB (djl-serving#1724).
_CHUNKS = "OPTION_ENABLE_CHUNKED_PREFILL"
_CHUNKS_WHEN_ASKED = (_CHUNKS, "SM_VLLM_ENABLE_CHUNKED_PREFILL", "VLLM_USE_V1")
# From 0.8 to 0.11 it cuts prompts whatever it is told (vllm#18547).
_CHUNKS_NOT, _CHUNKS_UNLESS_TOLD_FROM = "SM_VLLM_NO_ENABLE_CHUNKED_PREFILL", (0, 12)
_CHUNKS_PROMPTS_FROM, _CHUNKS_LONG_PROMPTS_FROM, _CHUNKS_LONGER_PROMPTS = (0, 8), (0, 6), 32_768
_ACTIVATIONS_PER_HIDDEN = 40  # bytes, per token
_LOGITS_PER_WORD = 256 * 2 * 4  # bytes: the sampler holds those of 256 requests twice
_LEAST_OVERHEAD = 0.4 * GB
_GGUF = re.compile(r"(?i)(?<![a-z0-9])i?t?q([1-8])_")
_NAMES_FILE = re.compile(r"_(HF_FILE|HF_REPO|MODEL)$")
_KEEPS_PARTS = re.compile(r"_(N_)?CPU_MOE$|_OVERRIDE_TENSOR")
_ALL_LAYERS = 999  # what the catalog sets
_GPU_LAYERS = ("SM_LLAMA_CPP_N_GPU_LAYERS", "SM_LLAMACPP_N_GPU_LAYERS")
_MXFP4_PADDING = 1.15  # gpt-oss-120b leaves 1.7 of 76 GiB free on one H100, vLLM 0.11
_LATENT = ("DeepseekV2", "DeepseekV3", "GlmMoeDsa", "Glm4MoeLite", "KimiK25", "KimiVL", "MistralLarge3")
_LATENT_SIZE = 512 + 64  # multi-head latent attention: one compressed vector and one rotary key per token
_MAKES_FP8_BY_LAYER_FROM = (0, 15)  # vllm#31914
_KEEPS_LATENT_FROM = (0, 7, 1)  # vllm#12601; before, whole keys and values


@dataclass(frozen=True)
class Memory:
    """Bytes on each accelerator. None = public facts do not say.

    available: what the engine may use; weights: of one shard; overhead: the least that the engine needs beside;
    whole_prompt: what it needs, too, where a step takes the longest prompt whole; per_token: KV cache of one token;
    context: tokens that one request may have.
    """

    available: float
    weights: float | None
    overhead: float
    whole_prompt: float
    per_token: float | None
    context: int | None

    @property
    def left_for_cache(self) -> float | None:
        """What weights and engine leave for the KV cache."""
        if self.weights is None:
            return None
        return self.available - self.weights - self.overhead - self.whole_prompt

    @property
    def cached_tokens(self) -> int | None:
        """Tokens of all requests together that the cache holds."""
        left = self.left_for_cache
        return None if left is None or not self.per_token else max(0, int(left / self.per_token))

    @property
    def requests_at_full_length(self) -> float | None:
        """How many requests of the whole context fit at once."""
        tokens = self.cached_tokens
        return None if tokens is None or not self.context else tokens / self.context


def memory(plan: Plan) -> Memory:
    """The estimate for one copy of the model on one instance type."""
    return Memory(
        available=_available(plan),
        weights=_weights(plan),
        overhead=_overhead(plan),
        whole_prompt=_whole_prompt(plan),
        per_token=_per_token(plan),
        context=longest(plan),
    )


def weights_in_files(plan: Plan) -> float | None:
    """Bytes that are downloaded and lie on the disk."""
    if plan.shape and plan.shape.weights_in_gb:
        return plan.shape.weights_in_gb * GB
    if plan.parameters_in_billions is None or foreign_format(plan.model_id):
        return None
    return plan.parameters_in_billions * GB * _bytes_per_parameter(plan, plan.stored_quantization or "fp16")


def weights_before_fp8(plan: Plan) -> float:
    """Bytes of one shard in 16 bits, where the engine makes FP8 of them once all are loaded; 0 = it does not."""
    is_plain = plan.comes_from_hub and plan.shape is not None and plan.shape.quantization is None
    is_late = plan.engine == "sglang" or (plan.vllm is not None and numbers(plan.vllm) < _MAKES_FP8_BY_LAYER_FROM)
    is_asked = plan.quantization == "fp8" and plan.instance.kind == "gpu"
    if not (is_plain and is_late and is_asked and plan.parameters_in_billions):
        return 0
    return _on_gpus(plan, plan.parameters_in_billions * GB * BYTES_PER_PARAMETER["fp16"])


def _overhead(plan: Plan) -> float:
    if not (plan.runs_vllm or plan.engine == "sglang"):
        return _LEAST_OVERHEAD
    hidden = (plan.shape.hidden_size if plan.shape else None) or 0
    vocabulary = (plan.shape.vocabulary if plan.shape else None) or 0
    return _OVERHEAD + _TOKENS_PER_STEP * hidden * _ACTIVATIONS_PER_HIDDEN + vocabulary * _LOGITS_PER_WORD


def whole_prompt_in_tokens(plan: Plan) -> int:
    """The longest prompt, where vLLM takes it in one step; 0 = in pieces, or not known."""
    length, vllm = longest(plan) or 0, numbers(plan.vllm or "99")
    if not plan.runs_vllm or plan.says_yes(*_CHUNKS_WHEN_ASKED):
        return 0
    chunks_long = length > _CHUNKS_LONGER_PROMPTS and vllm >= _CHUNKS_LONG_PROMPTS_FROM
    asks_for_whole = plan.says_yes(_CHUNKS_NOT) or plan.environment.get(_CHUNKS, "").lower() == "false"
    if vllm >= _CHUNKS_UNLESS_TOLD_FROM and asks_for_whole:
        return length
    return 0 if vllm >= _CHUNKS_PROMPTS_FROM or chunks_long else length


def longest(plan: Plan) -> int | None:
    """Tokens that one request may have; None = not known."""
    return plan.max_model_len or (plan.shape.context if plan.shape else None)


def _whole_prompt(plan: Plan) -> float:
    more_tokens = max(0, whole_prompt_in_tokens(plan) / plan.degree - _TOKENS_PER_STEP)
    return more_tokens * ((plan.shape.hidden_size if plan.shape else None) or 0) * _ACTIVATIONS_PER_HIDDEN


def _available(plan: Plan) -> float:
    instance = plan.instance
    if instance.kind == "cpu":
        return (instance.memory_in_gib or 0) * 1024 * MIB * 0.95
    per_device = (instance.accelerator_memory_in_mib or 0) * MIB
    if instance.kind == "neuron":
        cores = (instance.neuron_cores or instance.accelerator_count) / instance.accelerator_count
        return per_device / cores
    return min(seen_memory(instance), per_device * _utilization(plan))


def seen_memory(instance: Instance) -> float:
    """Bytes that CUDA sees of one accelerator."""
    share = _SEEN.get(instance.accelerator or "", _SEEN_OTHERWISE)
    return (instance.accelerator_memory_in_mib or 0) * MIB * share


def _utilization(plan: Plan) -> float:
    given = plan.number(*UTILIZATIONS)
    if given:
        return given
    return VLLM_UTILIZATION if plan.runs_vllm else 1.0


def _weights(plan: Plan) -> float | None:
    """Of one shard: by the type in memory, as stored where nothing changes it."""
    size = _weights_in_memory(plan)
    return None if size is None else _on_gpus(plan, size)


def _on_gpus(plan: Plan, size: float) -> float:
    """Of one shard, what is not left to the machine's memory."""
    kept_on_host = plan.number("OPTION_CPU_OFFLOAD_GB", "SM_VLLM_CPU_OFFLOAD_GB", "SM_SGLANG_CPU_OFFLOAD_GB") or 0
    return max(0.0, size / plan.shards - kept_on_host * GB)


def _weights_in_memory(plan: Plan) -> float | None:
    shape, asked = plan.shape, plan.quantization
    stored_as_is = shape is not None and shape.quantization is not None and asked == shape.quantization
    if stored_as_is and shape and shape.weights_in_gb:
        padding = _MXFP4_PADDING if asked == "mxfp4" and plan.runs_vllm else 1
        return shape.weights_in_gb * GB * padding
    if plan.parameters_in_billions is None or plan.unknown_format or foreign_format(plan.model_id):
        return None
    share = _share_on_gpus(plan)
    if share is None:
        return None
    return plan.parameters_in_billions * GB * _bytes_per_parameter(plan, asked or _type_in_memory(plan)) * share


def _bytes_per_parameter(plan: Plan, kind: str) -> float:
    """Of a GGUF file, its name says: `Q4_K_M` is four bits, and at least half of one for scales."""
    files = (value for name, value in plan.environment.items() if _NAMES_FILE.search(name))
    said = " ".join([*files, plan.deployment.model.weights or "", plan.model_id])
    named = _GGUF.search(said) if kind == "gguf" else None
    return (int(named[1]) + 0.5) / 8 if named else BYTES_PER_PARAMETER[kind]


def _share_on_gpus(plan: Plan) -> float | None:
    """Of the weights, what llama.cpp keeps on GPUs; the rest stays in the memory of the machine. None = unknown."""
    if plan.server != "llama-cpp" or plan.instance.kind != "gpu":
        return 1
    if any(_KEEPS_PARTS.search(name) for name in plan.environment):
        return None
    kept, layers = plan.number(*_GPU_LAYERS), plan.shape.layers if plan.shape else None
    if kept is None:
        return None
    return min(1.0, kept / layers) if layers else {0: 0.0, _ALL_LAYERS: 1.0}.get(int(kept))


def _type_in_memory(plan: Plan) -> str:
    """The least that the engine takes: 16 bits wherever nothing says 32."""
    default = plan.version.default_dtype if plan.version else None
    return plan.dtype or default or "fp16"


def _per_token(plan: Plan) -> float | None:
    shape = plan.shape
    if shape is None or not shape.layers:
        return None
    size = 1 if plan.kv_cache_type.startswith("fp8") else 2
    latent = shape.latent_size or (_LATENT_SIZE if shape.architecture.startswith(_LATENT) else 0)
    if latent and (plan.vllm is None or numbers(plan.vllm) >= _KEEPS_LATENT_FROM):
        return shape.layers * latent * size / plan.stages
    if not (shape.kv_heads and shape.head_size):
        return None
    shards = min(plan.degree, shape.kv_heads)
    return 2 * shape.layers * shape.kv_heads * shape.head_size * size / shards / plan.stages


def margin(plan: Plan) -> float:
    """How far a size may be off: more where only the model's name says it, because names round."""
    known = plan.shape is not None or plan.deployment.model.parameters_in_billions is not None
    return 1 if known else _MARGIN_BY_NAME


def in_gb(size: float) -> str:
    """For people, of bytes."""
    return f"{size / GB:.1f} GB"

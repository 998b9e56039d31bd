"""Estimates the memory of one device: weights, KV cache and the engine's own need, in bytes."""

import re
from dataclasses import dataclass

from ..catalog.instances import InstanceType
from ..catalog.models import ModelShape
from ..catalog.versions import is_before
from .adapter_memory import adapters_on_device
from .container import Container
from .encoder_memory import keeps_cache, step_in_bytes
from .formats import BYTES_PER_PARAMETER
from .recurrent_state import block_of_request, state_of_request

GB, MIB = 10**9, 2**20
# Share of EC2's figure that CUDA sees, without ECC and reserves (a T4 shows 15,095 of 16,384 MiB).
_VISIBLE = {"NVIDIA T4": 0.92}
_VISIBLE_OTHERWISE = 0.985
UTILIZATIONS = ("OPTION_GPU_MEMORY_UTILIZATION", "SM_VLLM_GPU_MEMORY_UTILIZATION", "CUDA_MEMORY_FRACTION")
_VLLM_UTILIZATION, _VLLM_UTILIZATION_BEFORE = 0.92, ("0.20", 0.9)  # gpu_memory_utilization in vLLM's config/cache.py
# vLLM's context and CUDA graphs, and the activations of a step: the least that users report.
_OVERHEAD, _TOKENS_PER_STEP = 0.55 * GB, 2048
# Before vLLM 0.8 a step takes a whole prompt: zephyr-7b with 32,768 tokens then needs 6 GB (djl-serving#1724).
_CHUNKS = "OPTION_ENABLE_CHUNKED_PREFILL"
_CHUNKS_WHEN_ASKED = (_CHUNKS, "SM_VLLM_ENABLE_CHUNKED_PREFILL", "VLLM_USE_V1")
# From 0.8 to 0.11 it splits prompts whatever the settings say (vllm#18547).
_CHUNKS_NOT, _CHUNKS_UNLESS_TOLD_FROM = "SM_VLLM_NO_ENABLE_CHUNKED_PREFILL", "0.12"
_CHUNKS_PROMPTS_FROM, _CHUNKS_LONG_PROMPTS_FROM, _CHUNKS_LONGER_PROMPTS = "0.8", "0.6", 32_768
_ACTIVATIONS_PER_HIDDEN = 40  # bytes, per token
_ENCODER_PER_HIDDEN = 28  # bytes, per patch of an image: Qwen2.5-VL-72B over four A100 (vllm#16570)
_LOGITS_PER_WORD = 256 * 2 * 4  # bytes: the sampler holds those of 256 requests twice
_LEAST_OVERHEAD = 0.4 * GB
_GGUF = re.compile(r"(?i)(?<![a-z0-9])i?t?q([1-8])_")
_NAMES_FILE = re.compile(r"_(HF_FILE|MODEL)$")
_KEEPS_PARTS = re.compile(r"_(N_)?CPU_MOE$|_OVERRIDE_TENSOR")
ALL_LAYERS = 999  # the catalog's constant
GPU_LAYERS = ("SM_LLAMA_CPP_N_GPU_LAYERS", "SM_LLAMACPP_N_GPU_LAYERS")
_ON_HOST = ("OPTION_CPU_OFFLOAD_GB", "SM_VLLM_CPU_OFFLOAD_GB", "SM_SGLANG_CPU_OFFLOAD_GB")
_MXFP4_PADDING = 1.085  # gpt-oss-120b: 65.97 GiB in memory (vllm#23278)
_LATENT = ("DeepseekV2", "DeepseekV3", "GlmMoeDsa", "Glm4MoeLite", "KimiK25", "KimiVL", "MistralLarge3")
_LATENT_SIZE = 512 + 64  # Multi-head latent attention keeps one compressed vector and one rotary key per token.
# With sparse attention 512 values in FP8, four scales of 4 bytes, 64 values in 16 bits (fp8_ds_mla in vLLM's
# csrc/cache_kernels.cu). vLLM 0.11.0 takes that form unasked.
_SPARSE_LATENT_IN_FP8, _SPARSE_IN_16_BITS_FROM = 512 + 4 * 4 + 64 * 2, "0.11.1"
_MAKES_FP8_BY_LAYER_FROM = "0.15"  # vllm#31914
_KEEPS_LATENT_FROM = "0.7.1"  # vllm#12601; before, whole keys and values
# Share of the layers that keep only their window, for models that do not state it.
_SHARE_WITH_WINDOW = {
    "Cohere2": 3 / 4,
    "Exaone4": 3 / 4,
    "Gemma2": 1 / 2,
    "Gemma3": 5 / 6,
    "GptOss": 1 / 2,
    "Llama4": 3 / 4,
    "Mistral": 1,
    "Olmo3": 3 / 4,
    "Phi3": 1,
    "Starcoder2": 1,
}
_KEEPS_WINDOWS_FROM, _KEEPS_CHUNKS_FROM = "0.8", "0.10"  # vLLM, the latter for Llama 4 (vllm#19407)


@dataclass(frozen=True)
class Memory:
    """Bytes on each device; None = public facts do not say.

    visible: memory that the driver shows.
    available: the part of it that the engine may use.
    weights: weights of one shard.
    before_fp8: weights of one shard in 16 bits, if the engine converts them to FP8 only after all are loaded; otherwise
    0.
    overhead: the least that the engine needs beside the weights.
    adapters: what the engine reserves for LoRA adapters.
    whole_prompt: additional memory if a step takes the longest prompt as a whole.
    per_token: KV cache of one token, on average over a request of the whole context.
    least_per_token: the same if layers with a window keep nothing.
    per_request: recurrent state of one request, which does not grow with its tokens.
    per_running_request: the least that vLLM sets aside for the state of each request that may run.
    context: tokens that one request may have.
    """

    visible: float
    available: float
    weights: float | None
    before_fp8: float
    overhead: float
    adapters: float
    whole_prompt: float
    per_token: float | None
    least_per_token: float | None
    per_request: float
    per_running_request: float
    context: int | None

    @property
    def left_for_cache(self) -> float | None:
        """Available memory minus the weights and the engine's need."""
        if self.weights is None:
            return None
        return self.available - self.weights - self.overhead - self.adapters - self.whole_prompt

    @property
    def cached_tokens(self) -> int | None:
        """Tokens of all requests together that the KV cache holds."""
        left = self.left_for_cache
        return None if left is None or not self.per_token else max(0, int(left / self.per_token))

    @property
    def requests_at_full_length(self) -> float | None:
        """Number of requests with the whole context that fit at once."""
        left = self.left_for_cache
        if left is None or not self.per_token or not self.context:
            return None
        return max(0.0, left) / (self.per_token * self.context + self.per_request)

    @property
    def most_running(self) -> int:
        """The most requests whose recurrent states fit; 0 for a model that keeps none."""
        return int(max(0.0, self.left_for_cache or 0) / self.per_running_request) if self.per_running_request else 0

    @property
    def share_needed(self) -> float:
        """Need of weights, engine and adapters as a share of the available memory; 0 if either is not known."""
        return ((self.weights or 0) + self.overhead + self.adapters) / self.available if self.available else 0


def estimate(container: Container, instance: InstanceType, *, degree: int, stages: int) -> Memory:
    """Return the estimate for one copy of the model, split over degree x stages devices."""
    visible, shards = _visible_memory(instance), degree * stages
    window = container.shape.sliding_window if container.shape and has_windows(container) else None
    share = min(1.0, window / container.context) if window and container.context else 1.0
    return Memory(
        visible=visible,
        available=_available(container, instance, visible),
        weights=_shard(container, _weights_in_memory(container, instance), shards),
        before_fp8=_weights_before_fp8(container, instance, shards),
        overhead=_overhead(container, instance),
        adapters=adapters_on_device(container, degree) / stages,
        whole_prompt=_whole_prompt(container, degree),
        per_token=_per_token(container, instance, degree, stages, share),
        least_per_token=_per_token(container, instance, degree, stages, 0.0 if window else 1.0),
        per_request=state_of_request(container.shape, shards),
        per_running_request=block_of_request(container.shape, shards) if container.runs_vllm else 0,
        context=container.context,
    )


def weights_in_files(container: Container) -> float | None:
    """Return the bytes that are downloaded to the disk, for an unknown model the least; None = not known."""
    shape = container.shape
    if shape and shape.weights_in_gb:
        return shape.weights_in_gb * GB
    if container.parameters_in_billions is None:
        return None
    stored = container.stored_quantization or (None if shape else container.asked_quantization) or "fp16"
    return container.parameters_in_billions * GB * _bytes_per_parameter(container, stored)


def whole_prompt_in_tokens(container: Container) -> int:
    """Return the longest prompt if vLLM takes it in one step; 0 = it splits prompts, or not known."""
    length = container.context or 0
    if not container.runs_vllm or container.flag(*_CHUNKS_WHEN_ASKED):
        return 0
    chunks_long = length > _CHUNKS_LONGER_PROMPTS and not is_before(container.vllm, _CHUNKS_LONG_PROMPTS_FROM)
    asks_for_whole = container.flag(_CHUNKS_NOT) or container.environment.get(_CHUNKS, "").lower() == "false"
    if asks_for_whole and not is_before(container.vllm, _CHUNKS_UNLESS_TOLD_FROM):
        return length
    return length if is_before(container.vllm, _CHUNKS_PROMPTS_FROM) and not chunks_long else 0


def has_windows(container: Container) -> bool:
    """Whether layers with a window keep less than the context: vLLM has a cache for each kind of layer."""
    shape = container.shape
    if shape is None or shape.sliding_window is None or not container.runs_vllm:
        return False
    if container.context and shape.sliding_window >= container.context:
        return False
    in_chunks = shape.architecture.startswith("Llama4")
    return not is_before(container.vllm, _KEEPS_CHUNKS_FROM if in_chunks else _KEEPS_WINDOWS_FROM)


def in_gb(size: float) -> str:
    """Return a number of bytes for people."""
    return f"{size / GB:.1f} GB"


def _visible_memory(instance: InstanceType) -> float:
    share = _VISIBLE.get(instance.accelerator or "", _VISIBLE_OTHERWISE)
    return (instance.accelerator_memory_in_mib or 0) * MIB * share


def _available(container: Container, instance: InstanceType, visible: float) -> float:
    if instance.kind == "cpu":
        return (instance.memory_in_gib or 0) * 1024 * MIB * 0.95
    per_device = (instance.accelerator_memory_in_mib or 0) * MIB
    if instance.kind == "neuron":
        return per_device / ((instance.neuron_cores or instance.accelerator_count) / instance.accelerator_count)
    utilization = container.number(*UTILIZATIONS) or (_default_utilization(container) if container.runs_vllm else 1.0)
    return min(visible, per_device * utilization)


def _default_utilization(container: Container) -> float:
    version, older = _VLLM_UTILIZATION_BEFORE
    return older if is_before(container.vllm, version) else _VLLM_UTILIZATION


def _weights_before_fp8(container: Container, instance: InstanceType, shards: int) -> float:
    shape = container.shape
    is_plain = container.comes_from_hub and shape is not None and shape.quantization is None
    is_late = container.engine == "sglang" or is_before(container.vllm, _MAKES_FP8_BY_LAYER_FROM)
    is_asked = container.quantization == "fp8" and instance.kind == "gpu"
    if not (is_plain and is_late and is_asked and container.parameters_in_billions):
        return 0
    return _shard(container, container.parameters_in_billions * GB * BYTES_PER_PARAMETER["fp16"], shards) or 0


def _overhead(container: Container, instance: InstanceType) -> float:
    if not (container.runs_vllm or container.engine == "sglang"):
        return _LEAST_OVERHEAD + step_in_bytes(container, type_in_memory(container, instance))
    hidden = (container.shape.hidden_size if container.shape else None) or 0
    vocabulary = (container.shape.vocabulary if container.shape else None) or 0
    step = _TOKENS_PER_STEP * hidden * _ACTIVATIONS_PER_HIDDEN + vocabulary * _LOGITS_PER_WORD
    vectors, activations = _encoder(container, hidden)
    return _OVERHEAD + vectors + max(step, activations)


def _encoder(container: Container, hidden: int) -> tuple[float, float]:
    """Return what the largest image takes: its vectors, which vLLM caches, and the encoder's activations.

    vLLM encodes such an image at its start and frees the activations before a step. Source: gpu_model_runner.py
    (profile_run).
    """
    vision = container.shape.vision if container.shape else None
    if vision is None or container.deployment.serving.images_per_prompt == 0:
        return 0, 0
    vectors = max(vision.most_tokens, _TOKENS_PER_STEP) * vision.levels * hidden * 2
    return vectors, vision.most_tokens * vision.squares * (vision.hidden_size or 0) * _ENCODER_PER_HIDDEN


def _whole_prompt(container: Container, degree: int) -> float:
    more_tokens = max(0, whole_prompt_in_tokens(container) / degree - _TOKENS_PER_STEP)
    return more_tokens * ((container.shape.hidden_size if container.shape else None) or 0) * _ACTIVATIONS_PER_HIDDEN


def _shard(container: Container, size: float | None, shards: int) -> float | None:
    """Return the part of one device, without the weights that stay in the host's memory."""
    return None if size is None else max(0.0, size / shards - (container.number(*_ON_HOST) or 0) * GB)


def _weights_in_memory(container: Container, instance: InstanceType) -> float | None:
    shape, asked = container.shape, container.quantization
    if shape and shape.quantization is not None and asked == shape.quantization and shape.weights_in_gb:
        return shape.weights_in_gb * GB * (_MXFP4_PADDING if asked == "mxfp4" and container.runs_vllm else 1)
    if container.packing and shape and shape.weights_in_gb:
        return shape.weights_in_gb * GB  # engines compute with packed weights in the form of the files
    if container.parameters_in_billions is None or container.unknown_format:
        return None
    share = _share_on_gpus(container, instance)
    if share is None:
        return None
    kind = asked or type_in_memory(container, instance)
    return container.parameters_in_billions * GB * _bytes_per_parameter(container, kind) * share


def _bytes_per_parameter(container: Container, kind: str) -> float:
    """Return the size; of the GGUF file that a setting names, `Q4_K_M` is four bits, and half a bit for scales."""
    files = [value for name, value in container.environment.items() if _NAMES_FILE.search(name)]
    tags = [value.partition(":")[2] for name, value in container.environment.items() if name.endswith("_HF_REPO")]
    named = " ".join([*files, *tags, container.deployment.model.weights or ""])
    bits = _GGUF.search(named) if kind == "gguf" else None
    return (int(bits[1]) + 0.5) / 8 if bits else BYTES_PER_PARAMETER[kind]


def _share_on_gpus(container: Container, instance: InstanceType) -> float | None:
    """Return the share of the weights that llama.cpp keeps on GPUs, not in the host's memory; None = not known."""
    if container.server != "llama-cpp" or instance.kind != "gpu":
        return 1
    if any(_KEEPS_PARTS.search(name) for name in container.environment):
        return None
    kept, layers = container.number(*GPU_LAYERS), container.shape.layers if container.shape else None
    if kept is None:
        return None
    return min(1.0, kept / layers) if layers else {0: 0.0, ALL_LAYERS: 1.0}.get(int(kept))


def type_in_memory(container: Container, instance: InstanceType) -> str:
    """Return the type of plain weights in memory: 16 bits, unless the file or the image asks for 32.

    The `transformers` server takes 32 bits, except for weights stored as bfloat16 on a CPU that computes with it.
    """
    stored = container.shape.dtype if container.shape else None
    if container.server == "transformers" and not (stored in (None, "bf16") and instance.computes_bf16):
        return "fp32"
    default = container.version.default_dtype if container.version else None
    return container.dtype or default or "fp16"


def _per_token(
    container: Container, instance: InstanceType, degree: int, stages: int, kept_in_window: float
) -> float | None:
    """Return the KV cache of one token, if layers with a window keep this share of the tokens; None = not known."""
    shape = container.shape
    if not keeps_cache(container):
        return 0.0
    if shape is None or not shape.layers:
        return None
    size = 1.0 if container.kv_cache_type.startswith("fp8") else 2.0
    if container.server == "transformers":
        size = BYTES_PER_PARAMETER[type_in_memory(container, instance)]
    latent = shape.latent_size or (_LATENT_SIZE if shape.architecture.startswith(_LATENT) else 0)
    if latent and not is_before(container.vllm, _KEEPS_LATENT_FROM):
        takes_fp8 = size == 1 or is_before(container.vllm, _SPARSE_IN_16_BITS_FROM)
        is_packed = shape.indexer_bytes and takes_fp8 and latent == _LATENT_SIZE
        each = _SPARSE_LATENT_IN_FP8 if is_packed else latent * size
        return (shape.layers * each + (shape.indexer_bytes or 0)) / stages
    windowed = _layers_with_window(container, shape)
    if not (shape.kv_heads and shape.head_size) or windowed is None:
        return None
    other_heads, other_size = shape.kv_heads_without_window or shape.kv_heads, shape.head_size_without_window
    each = shape.head_size * shape.kv_heads / min(degree, shape.kv_heads)
    other = (other_size or shape.head_size) * other_heads / min(degree, other_heads)
    return 2 * size * (windowed * kept_in_window * each + (shape.layers - windowed) * other) / stages


def _layers_with_window(container: Container, shape: ModelShape) -> int | None:
    """Return the number of layers that look back no further than the window; None = not known."""
    layers = shape.layers or 0
    if shape.sliding_window is None or shape.layers_with_window is not None:
        return min(shape.layers_with_window or 0, layers)
    usual = next((share for name, share in _SHARE_WITH_WINDOW.items() if shape.architecture.startswith(name)), None)
    if usual is None:
        return None if has_windows(container) else 0
    return layers - int(layers * (1 - usual))

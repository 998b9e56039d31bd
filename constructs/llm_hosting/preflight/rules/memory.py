"""Rules over memory and disk: weights, KV cache, the engine's own need."""

import math
from collections.abc import Iterator

from ...deployment.finding import Finding
from ...resolution import Placement, Resolution
from ...resolution.memory import GB, UTILIZATIONS, in_gb, type_in_memory, weights_in_files
from ...resolution.parallelism import blocks_divide, heads_divide, possible_degrees, replicas_set, stages_set
from ...resolution.recurrent_state import requests_at_once
from .rule import error, warning
from .suitable_type import (
    CLOSE,
    CLOSE_TO_BLOCKS,
    SUCH_AS,
    SYSTEM_IN_GB,
    lacks_blocks,
    lacks_disk,
    tokens_needed_at_once,
)

TGI_TOKENS = ("MAX_TOTAL_TOKENS", "MAX_BATCH_TOTAL_TOKENS")
_STATIC_SHARE = "SM_SGLANG_MEM_FRACTION_STATIC"
_ROOT_DISK_IN_GB = 30
_MORE_MEMORY = f"a type with more memory{SUCH_AS}"


@error
def weights_fit_memory(resolution: Resolution) -> Iterator[Finding]:
    """The weights of one shard, and the least that the engine needs beside them, must fit into the memory of a device.

    On a CPU type the device is the whole instance.
    """
    container = resolution.container
    for placement in resolution.placements:
        need = placement.memory
        if need.weights is not None and need.share_needed > 1:
            yield Finding("hosting.instance_type", _too_large(placement), _larger(resolution, placement))
        elif need.before_fp8 > need.visible:
            newer = (
                ["a serving.version with vLLM 0.15 or newer, which converts layer by layer"] if container.vllm else []
            )
            ways = [*newer, "weights that are in FP8 already", *_more_degree(placement), _MORE_MEMORY]
            yield Finding(
                "model.quantization",
                f"{container.model_id} is converted to fp8 after all weights are loaded, which takes "
                f"{in_gb(need.before_fp8)} on each accelerator of {placement.instance.type}; it has "
                f"{in_gb(need.visible)}",
                f"use {', or '.join(ways)}",
            )


@warning
def weights_barely_fit(resolution: Resolution) -> Iterator[Finding]:
    """If the estimate is close to the limit, the engine's real need decides."""
    for placement in resolution.placements:
        need = placement.memory
        if need.weights is not None and CLOSE < need.share_needed <= 1:
            problem = f"{_too_large(placement)}, {need.share_needed:.0%} of it"
            yield Finding("hosting.instance_type", problem, _larger(resolution, placement))


@error
def context_fits_memory(resolution: Resolution) -> Iterator[Finding]:
    """vLLM ends at its start if the KV cache can't hold one request of the greatest length.

    Layers with a window are left out, because they keep at most their window. A model compiled for Neuron reserves
    that memory for every request of the batch. llama.cpp sets the context that the file states aside, for all slots
    together.
    """
    for placement in resolution.placements:
        if not _holds_context(placement, placement.memory.least_per_token):
            yield _too_long(placement, placement.memory.least_per_token or 0)


@warning
def context_with_windows_fits_memory(resolution: Resolution) -> Iterator[Finding]:
    """As `context-fits-memory`, together with the layers that have a window: their need is an estimate."""
    for placement in resolution.placements:
        need = placement.memory
        if _holds_context(placement, need.least_per_token) and not _holds_context(placement, need.per_token):
            yield _too_long(placement, need.per_token or 0)


@error
def state_fits_memory(resolution: Resolution) -> Iterator[Finding]:
    """vLLM sets a block aside for each request that may run, if a model keeps a recurrent state (hybrid models).

    From 0.20 on it ends at its start if there are fewer blocks than requests, unless it captures no CUDA graphs
    (vllm#38270, #49064).
    """
    for placement in resolution.placements:
        if lacks_blocks(placement):
            yield _too_many(placement)


@warning
def state_barely_fits(resolution: Resolution) -> Iterator[Finding]:
    """As `state-fits-memory`, if the number of requests is the engine's default and the blocks barely suffice.

    The estimate of what is left is an upper bound: published numbers of blocks are 70 to 96 % of it
    (vllm-project/recipes#551, #831).
    """
    for placement in resolution.placements:
        if not lacks_blocks(placement) and lacks_blocks(placement, with_room=True):
            yield _too_many(placement, barely=True)


@warning
def tokens_fit_memory(resolution: Resolution) -> Iterator[Finding]:
    """TGI ends after its warm-up if the KV cache can't hold the tokens that a variable sets."""
    container = resolution.container
    name = max(TGI_TOKENS, key=lambda name: container.number(name) or 0)
    tokens = container.number(name)
    for placement in resolution.placements:
        need = placement.memory
        if container.engine == "tgi" and tokens and need.cached_tokens is not None and 0 < need.cached_tokens < tokens:
            yield Finding(
                f"serving.environment.{name}",
                f"{tokens:,.0f} tokens need about {in_gb(tokens * (need.per_token or 0))} of KV cache on each "
                f"accelerator of {placement.instance.type}, where {in_gb(need.left_for_cache or 0)} is left beside the "
                "weights",
                f"use {_rounded(need.cached_tokens)} or less, or a larger type",
            )


@error
def answer_fits_context(resolution: Resolution) -> Iterator[Finding]:
    """Prompt and answer share the context."""
    answer, most = resolution.deployment.serving.max_new_tokens, resolution.container.max_model_len
    if answer and most and answer >= most:
        yield Finding(
            "serving.max_new_tokens",
            f"{answer:,} leaves no room for a prompt in {most:,} tokens (serving.max_model_len)",
            "use fewer tokens, or a longer context",
        )


@error
def memory_share_is_possible(resolution: Resolution) -> Iterator[Finding]:
    """An engine can take more than nothing and at most all of an accelerator's memory."""
    for name in (*UTILIZATIONS, _STATIC_SHARE):
        share = resolution.container.number(name)
        if share is not None and not 0 < share <= 1:
            problem = f"{share:g} is not a share of the memory"
            yield Finding(f"serving.environment.{name}", problem, "use more than 0 and at most 1")


@error
def static_share_holds_weights(resolution: Resolution) -> Iterator[Finding]:
    """SGLang ends at its start if its static share of an accelerator's memory leaves nothing beside the weights.

    That share holds weights and KV cache ("Not enough memory. Please try to increase --mem-fraction-static."). What a
    step needs lies outside.
    """
    container = resolution.container
    share = container.number(_STATIC_SHARE) or 1.0
    for placement in resolution.placements if container.engine == "sglang" and share < 1 else ():
        need = placement.memory
        if need.weights is not None and share * need.visible <= need.weights <= need.visible:
            given, wanted = unlike_in_gb(share * need.visible, need.weights)
            yield Finding(
                f"serving.environment.{_STATIC_SHARE}",
                f"{share:g} of an accelerator's memory on {placement.instance.type} is {given}, and the weights of "
                f"{container.model_id} need {wanted} there",
                f"use more, or remove it, or use {_MORE_MEMORY}",
            )


@error
def weights_fit_disk(resolution: Resolution) -> Iterator[Finding]:
    """Weights are downloaded to the disk before they are loaded; a machine's disk also holds system and packages."""
    container, size = resolution.container, weights_in_files(resolution.container)
    beside = SYSTEM_IN_GB if resolution.deployment.hosting.runs_on_machines else 0
    packages = f" and the {beside} GB of system and packages" if beside else ""
    for placement in resolution.placements:
        if size is not None and lacks_disk(placement):
            instance = placement.instance
            volume = instance.volume_size_allowed
            yield Finding(
                "hosting.volume_size_in_gb" if volume else "hosting.instance_type",
                f"{placement.disk_in_gb} GB of disk on {instance.type} can't hold the {in_gb(size)} of "
                f"{container.model_id}{packages}",
                "set hosting.volume_size_in_gb to more than that" if volume else f"use a type with more disk{SUCH_AS}",
            )


@warning
def weights_need_a_volume(resolution: Resolution) -> Iterator[Finding]:
    """Above about 30 GB, types without a disk of their own need a volume (AWS, large model hosting).

    Hugging Face's toolkit copies a model to the root disk, whatever the volume (its issue #80).
    """
    container, size = resolution.container, weights_in_files(resolution.container) or 0
    if container.engine == "huggingface" and size > _ROOT_DISK_IN_GB * GB:
        copies = f"'huggingface' copies the {in_gb(size)} of {container.model_id} to a root disk of about"
        yield Finding("serving.engine", f"{copies} {_ROOT_DISK_IN_GB} GB", "use another engine")
        return
    for placement in resolution.placements:
        instance = placement.instance
        if instance.volume_size_allowed and placement.disk_in_gb is None and size > _ROOT_DISK_IN_GB * GB:
            yield Finding(
                "hosting.volume_size_in_gb",
                f"is not set, and SageMaker's default of about {_ROOT_DISK_IN_GB} GB on {instance.type} can't hold "
                f"the {in_gb(size)} of {container.model_id}",
                "set it to more than that",
            )
            return


def _holds_context(placement: Placement, per_token: float | None) -> bool:
    """Whether the engine starts with its context, as far as is known; too large weights are another rule's."""
    need, tokens = placement.memory, tokens_needed_at_once(placement)
    left = need.left_for_cache
    return tokens is None or left is None or not per_token or need.share_needed > 1 or left // per_token >= tokens


def _too_long(placement: Placement, per_token: float) -> Finding:
    container, need, tokens = placement.container, placement.memory, tokens_needed_at_once(placement) or 0
    unset = "" if container.max_model_len else " (not set, so the model's own context)"
    left, requests = max(0, need.left_for_cache or 0), tokens // (need.context or tokens)
    each = f"{requests} requests of " if requests > 1 else ""
    fitting = min(_rounded((need.cached_tokens or 0) // requests), need.context or tokens)
    ways = [f"{fitting} or less"] if fitting else []
    ways += ["fewer requests at once"] if each else []
    ways.append(_MORE_MEMORY)
    needed, free = unlike_in_gb(tokens * per_token, left)
    return Finding(
        "serving.max_model_len",
        f"{each}{tokens // requests:,}{unset} tokens need {needed} of KV cache on each accelerator "
        f"of {placement.instance.type}, where {free} is left beside the weights",
        f"use {', or '.join(ways)}",
    )


def _too_many(placement: Placement, *, barely: bool = False) -> Finding:
    container, need = placement.container, placement.memory
    requests, most = requests_at_once(container, placement.instance), need.most_running / CLOSE_TO_BLOCKS
    unset = "" if container.max_batch_size else " (not set, so the engine's default)"
    ways = [f"{2 ** int(math.log2(most))} or less"] if most >= 1 else []
    ways += [] if barely else [_MORE_MEMORY]
    needed, free = unlike_in_gb(requests * need.per_running_request, max(0, need.left_for_cache or 0))
    return Finding(
        "serving.max_batch_size",
        f"{requests:,}{unset} requests at once need {needed} for the recurrent state of {container.model_id} on each "
        f"accelerator of {placement.instance.type}, where {'at most ' if barely else ''}{free} is left beside the "
        "weights",
        f"use {', or '.join(ways)}",
    )


def _too_large(placement: Placement) -> str:
    container, need = placement.container, placement.memory
    engine = "the engine and its adapters" if need.adapters else "the engine"
    plain = type_in_memory(container, placement.instance)
    kind = container.unknown_format or container.quantization or {"fp16": "16-bit"}.get(plain, plain)
    return (
        f"{placement.instance.type!r} gives the engine {in_gb(need.available)}{_shared(placement)}; the {kind} weights "
        f"of {container.model_id} need {in_gb(need.weights or 0)} there, and {engine} "
        f"{in_gb(need.overhead + need.adapters)} more"
    )


def _shared(placement: Placement) -> str:
    """Return the number of accelerators that share the model, and why not more of them do."""
    container, degree, devices = placement.container, placement.degree, placement.devices
    shape = container.shape
    if devices <= 1:
        return ""
    of_all = "" if degree >= devices else f" of {devices}"
    on = f" on each of {degree}{of_all} accelerators" if degree > 1 else f" on one of {devices} accelerators"
    most = max(possible_degrees(container, placement.instance), default=1)
    if shape is None or shape.heads is None or degree >= devices or degree < most:
        return on
    if any(heads_divide(shape, more) for more in range(degree + 1, devices + 1) if devices % more == 0):
        if container.stored_quantization is None:  # stages or replicas take the other accelerators
            return on
        return f"{on}, because blocks of its {container.stored_quantization} weights can't be divided by more"
    groups = f" ({shape.kv_heads} for keys and values)" if shape.kv_heads not in (None, shape.heads) else ""
    return f"{on}, because the model's {shape.heads} heads{groups} can't be divided by more"


def _larger(resolution: Resolution, placement: Placement) -> str:
    container = placement.container
    is_plain = not (container.quantization or container.unknown_format)
    takes_quantized = is_plain and not resolution.deployment.hosting.runs_on_machines
    ways = [*_more_degree(placement), _MORE_MEMORY, *(["quantized weights"] if takes_quantized else [])]
    return f"use {', or '.join(ways)}"


def _more_degree(placement: Placement) -> list[str]:
    """Offer a higher degree, or whole experts, if the engine takes it and the weights then fit."""
    container, need = placement.container, placement.memory
    whole = (need.weights or 0) * placement.degree
    takes_degree = container.version is None or "tensor_parallel_degree" in container.version.variables
    most = placement.devices // (stages_set(container) * replicas_set(container))
    higher = range(placement.degree + 1, most + 1) if takes_degree else ()
    fitting = [each for each in higher if placement.devices % each == 0 and heads_divide(container.shape, each)]
    fitting = [each for each in fitting if whole / each + need.overhead + need.adapters <= need.available]
    if any(blocks_divide(container, placement.instance, each) for each in fitting):
        return ["a higher serving.tensor_parallel_degree"]
    has_experts = container.is_mixture and (container.runs_vllm or container.engine == "sglang")
    return ["expert parallelism"] if fitting and has_experts else []


def unlike_in_gb(one: float, other: float) -> tuple[str, str]:
    """Return two numbers of bytes for people, with as many digits as tell them apart, at most three."""
    digits = next((count for count in (1, 2) if f"{one / GB:.{count}f}" != f"{other / GB:.{count}f}"), 3)
    return f"{one / GB:.{digits}f} GB", f"{other / GB:.{digits}f} GB"


def _rounded(tokens: int) -> int:
    return tokens // 256 * 256

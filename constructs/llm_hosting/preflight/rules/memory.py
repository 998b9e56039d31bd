"""Rules over memory and disk: weights, KV cache, the engine's own need."""

from collections.abc import Iterator

from ...deployment.finding import Finding
from ...resolution import Placement, Resolution
from ...resolution.memory import GB, UTILIZATIONS, has_windows, in_gb, type_in_memory, weights_in_files
from ...resolution.parallelism import heads_divide
from .rule import error, warning
from .suitable_type import CLOSE, SUCH_AS, SYSTEM_IN_GB, lacks_disk, tokens_needed_at_once

_TGI_TOKENS = ("MAX_TOTAL_TOKENS", "MAX_BATCH_TOTAL_TOKENS")
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
            newer = "a serving.version with vLLM 0.15 or newer, which converts layer by layer, "
            yield Finding(
                "model.quantization",
                f"{container.model_id} is converted to fp8 after all weights are loaded, which takes "
                f"{in_gb(need.before_fp8)} on each accelerator of {placement.instance.type}; it has "
                f"{in_gb(need.visible)}",
                f"use {newer if container.vllm else ''}weights that are in FP8 already, {_more_degree(placement)}or "
                f"{_MORE_MEMORY}",
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

    A model compiled for Neuron reserves that memory for every request of the batch.
    """
    if not has_windows(resolution.container):
        yield from _contexts_too_long(resolution)


@warning
def context_with_windows_fits_memory(resolution: Resolution) -> Iterator[Finding]:
    """As `context-fits-memory`, for a model with layers that keep a window only: their need is an estimate."""
    if has_windows(resolution.container):
        yield from _contexts_too_long(resolution)


@warning
def tokens_fit_memory(resolution: Resolution) -> Iterator[Finding]:
    """TGI ends after its warm-up if the KV cache can't hold the tokens that a variable sets."""
    container = resolution.container
    name = max(_TGI_TOKENS, key=lambda name: container.number(name) or 0)
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
    for name in UTILIZATIONS:
        share = resolution.container.number(name)
        if share is not None and not 0 < share <= 1:
            problem = f"{share:g} is not a share of the memory"
            yield Finding(f"serving.environment.{name}", problem, "use more than 0 and at most 1")


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


def _contexts_too_long(resolution: Resolution) -> Iterator[Finding]:
    container = resolution.container
    for placement in resolution.placements:
        need, tokens = placement.memory, tokens_needed_at_once(placement)
        if tokens is None or need.cached_tokens is None or need.share_needed > 1 or need.cached_tokens >= tokens:
            continue
        unset = "" if container.max_model_len else " (not set, so the model's own context)"
        left, requests = max(0, need.left_for_cache or 0), tokens // (need.context or tokens)
        each = f"{requests} requests of " if requests > 1 else ""
        fitting = min(_rounded(need.cached_tokens // requests), need.context or tokens)
        ways = [f"{fitting} or less"] if fitting else []
        ways += ["fewer requests at once"] if each else []
        ways.append(_MORE_MEMORY)
        yield Finding(
            "serving.max_model_len",
            f"{each}{tokens // requests:,}{unset} tokens need {in_gb(tokens * (need.per_token or 0))} of KV cache "
            f"on each accelerator of {placement.instance.type}, where {in_gb(left)} is left beside the weights",
            f"use {', or '.join(ways)}",
        )


def _too_large(placement: Placement) -> str:
    container, need = placement.container, placement.memory
    plain = type_in_memory(container, placement.instance)
    kind = container.unknown_format or container.quantization or {"fp16": "16-bit"}.get(plain, plain)
    return (
        f"{placement.instance.type!r} gives the engine {in_gb(need.available)}{_shared(placement)}; the {kind} weights "
        f"of {container.model_id} need {in_gb(need.weights or 0)} there, and the engine {in_gb(need.overhead)} more"
    )


def _shared(placement: Placement) -> str:
    """Return the number of accelerators that share the model, and why not more of them do."""
    degree, devices, shape = placement.degree, placement.devices, placement.container.shape
    if devices <= 1:
        return ""
    of_all = "" if degree == devices else f" of {devices}"
    on = f" on each of {degree}{of_all} accelerators" if degree > 1 else f" on one of {devices} accelerators"
    if degree == devices or shape is None or shape.heads is None:
        return on
    if any(heads_divide(shape, more) for more in range(degree + 1, devices + 1)):
        return on
    groups = f" ({shape.kv_heads} for keys and values)" if shape.kv_heads != shape.heads else ""
    return f"{on}, because the model's {shape.heads} heads{groups} can't be divided by more"


def _larger(resolution: Resolution, placement: Placement) -> str:
    container = placement.container
    is_plain = not (container.quantization or container.unknown_format)
    quantized = ", or quantized weights" if is_plain and not resolution.deployment.hosting.runs_on_machines else ""
    return f"use {_more_degree(placement)}{_MORE_MEMORY}{quantized}"


def _more_degree(placement: Placement) -> str:
    """Offer a higher degree if the engine takes one, the heads can be divided by it, and the weights then fit."""
    version, shape, need = placement.container.version, placement.container.shape, placement.memory
    whole = (need.weights or 0) * placement.degree
    fits = any(
        whole / degree + need.overhead <= need.available and (shape is None or heads_divide(shape, degree))
        for degree in range(placement.degree + 1, placement.devices + 1)
    )
    takes_degree = version is None or "tensor_parallel_degree" in version.variables
    return "a higher serving.tensor_parallel_degree, " if takes_degree and fits else ""


def _rounded(tokens: int) -> int:
    return tokens // 256 * 256

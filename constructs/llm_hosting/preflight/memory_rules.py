"""Rules over memory: of accelerators and machines, for weights, KV cache and what the engine needs beside them."""

from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.model_names import foreign_format
from ..container_settings import TGI_PREFILL
from ..deployment import Deployment
from .finding import error, unknown, warning
from .memory import Memory, in_gb, margin, memory, seen_memory, weights_before_fp8
from .plan import Plan, container, plans

_CLOSE = 0.92  # of the memory that there is
_MOST_WITH_IMAGES = 32
_KEEPS_WINDOWS_FROM, _KEEPS_CHUNKS_FROM = (0, 8), (0, 10)  # vLLM, the latter for Llama 4 (vllm#19407)
_TGI_TOKENS = ("MAX_TOTAL_TOKENS", "MAX_BATCH_TOTAL_TOKENS")
_COMPUTES_TOTAL_FROM, _FIRST_TOTAL = (0, 9, 4), 16_000  # MAX_BATCH_TOTAL_TOKENS of TGI (its launcher)
_LEAST_VOCABULARY = 32_000  # that of Llama 2
_CHECKS_CONTEXT_FROM = (0, 2, 7)  # from here on vLLM ends when its cache can't hold one request of the whole context


@error
def weights_fit_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The weights of one shard, and the least that an engine needs beside them, fit into an accelerator's memory."""
    for plan in plans(deployment):
        need, before, there_is = memory(plan), weights_before_fp8(plan), seen_memory(plan.instance)
        if plan.instance.kind != "cpu" and need.weights is not None and _exceeds(need) > margin(plan):
            yield "hosting.instance_type", f"{_too_large(plan, need)}; {_larger(plan)}."
        elif before > there_is * margin(plan):
            newer = "a serving.version with vLLM 0.15 or newer, which does so layer by layer, " if plan.vllm else ""
            yield (
                "model.quantization",
                f"fp8 is made of the weights of {plan.model_id} once all are loaded: {in_gb(before)} for each "
                f"accelerator of {plan.instance.type}, which has {in_gb(there_is)}; use {newer}weights that are in FP8 "
                f"already, {_more_degree(plan)}or a type with more memory.",
            )


@warning
def weights_barely_fit(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Close to the limit, what the engine really needs decides."""
    for plan in plans(deployment):
        need = memory(plan)
        if need.weights is not None and _CLOSE < _exceeds(need) <= margin(plan):
            yield "hosting.instance_type", f"{_too_large(plan, need)}, which may not start; {_larger(plan)}."


@unknown
def size_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without the number of parameters, and what each takes, nothing can be said about memory."""
    plan = container(deployment)
    if plan.parameters_in_billions is None:
        yield (
            "model.parameters_in_billions",
            f"is not known for {plan.model_id}: set it to have memory, disk and start-up checked.",
        )
    elif plan.unknown_format:
        yield (
            "model.quantization",
            f"{plan.unknown_format!r} is a format whose size is not known, so memory is not checked; look at the "
            f"files of {plan.model_id}.",
        )
    elif foreign := foreign_format(plan.model_id):
        yield (
            "model.id",
            f"{plan.model_id!r} holds weights for {foreign}, whose size is not known, so memory is not checked; look "
            "at its files.",
        )


@unknown
def shape_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without layers and heads nothing can be said about the KV cache."""
    for plan in plans(deployment):
        if plan.shape is None:
            yield (
                "model.id",
                f"{plan.model_id!r} is not in the catalog, so its KV cache, and whether {plan.engine} runs it, are not "
                "checked; docs/models.md shows how to add it.",
            )
            return


@error
def context_fits_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM ends at its start when the KV cache can't hold one request of the greatest length.

    What is compiled for Neuron reserves it for every request of the batch.
    """
    for plan in plans(deployment):
        need, tokens = memory(plan), _tokens_needed_at_once(plan)
        if tokens is None or _has_windows(plan) or need.cached_tokens is None or _exceeds(need) > 1:
            continue
        if need.cached_tokens < tokens:
            said = "" if plan.max_model_len else " (not set, so the context of the model)"
            left, requests = max(0, need.left_for_cache or 0), tokens // (need.context or tokens)
            each, fitting = f"{requests} requests of " if requests > 1 else "", _round(need.cached_tokens // requests)
            yield (
                "serving.max_model_len",
                f"{each}{tokens // requests:,}{said} tokens need {in_gb(tokens * (need.per_token or 0))} of KV cache "
                f"on each accelerator of {plan.instance.type}, where {in_gb(left)} is left beside the weights; use "
                f"{f'{fitting} or less, ' if fitting else ''}{'fewer requests at once, ' if each else ''}"
                f"{'or ' if fitting or each else ''}a type with more memory.",
            )


@warning
def images_fit_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Llama 3.2's vision models attend to images in all requests of a step, 256 unless told otherwise (vllm#9445)."""
    plan = container(deployment)
    is_cross = plan.shape is not None and plan.shape.architecture == "MllamaForConditionalGeneration"
    if is_cross and plan.runs_vllm and (plan.batch or 256) > _MOST_WITH_IMAGES:
        yield (
            "serving.max_batch_size",
            f"{plan.batch or 'not set, so 256'} requests at once are likely to need more memory than there is for the "
            f"images of {plan.model_id}; use {_MOST_WITH_IMAGES} or less.",
        )


@warning
def prefill_fits_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Before 3.0, TGI warms up with its longest prefill, whose logits it holds in 16 and in 32 bits."""
    for plan in plans(deployment):
        need, tokens, shape = memory(plan), _prefill_tokens(plan), plan.shape
        if not (tokens and shape and shape.hidden_size and need.per_token and need.weights):
            continue
        cached = max(tokens, _cached_at_start(plan))
        total = (
            tokens * ((shape.vocabulary or _LEAST_VOCABULARY) * 6 + shape.hidden_size * 40) + cached * need.per_token
        )
        if total > (need.left_for_cache or 0):
            beside = f", with a cache of {cached:,.0f}," if cached > tokens else ""
            lower = "MAX_BATCH_TOTAL_TOKENS" if beside else "and MAX_INPUT_LENGTH with it"
            yield (
                "serving.environment.MAX_BATCH_PREFILL_TOKENS",
                f"{tokens:,.0f} tokens at once{beside} are likely to need {in_gb(total)} on each accelerator of "
                f"{plan.instance.type} beside the weights, where {in_gb(need.left_for_cache or 0)} is left; set it "
                f"lower, {lower}, or use a larger type.",
            )


@warning
def tokens_fit_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI ends after its warm-up when the cache can't hold the tokens that it is told to take."""
    for plan in plans(deployment):
        name = max(_TGI_TOKENS, key=lambda name: plan.number(name) or 0)
        tokens, need = plan.number(name), memory(plan)
        if plan.engine == "tgi" and tokens and need.cached_tokens is not None and 0 < need.cached_tokens < tokens:
            yield (
                f"serving.environment.{name}",
                f"{tokens:,.0f} tokens are likely to need {in_gb(tokens * (need.per_token or 0))} of KV cache on each "
                f"accelerator of {plan.instance.type}, where {in_gb(need.left_for_cache or 0)} is left beside the "
                f"weights; use {_round(need.cached_tokens)} or less, or a larger type.",
            )


@warning
def requests_fit_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Requests beyond what the cache holds wait in the engine."""
    concurrency = deployment.hosting.scaling.concurrent_requests_per_instance
    for plan in plans(deployment):
        fitting = memory(plan).requests_at_full_length
        said = "concurrent_requests_per_instance" in deployment.hosting.scaling.model_fields_set
        if said and fitting and 1 <= fitting < concurrency / plan.copies:
            yield (
                "hosting.scaling.concurrent_requests_per_instance",
                f"{concurrency} requests of the whole context do not fit the KV cache of {plan.instance.type}, which "
                f"holds {fitting * plan.copies:.1f}: the others wait in the engine; shorten serving.max_model_len, or "
                "expect it.",
            )


@error
def host_memory(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A model on a CPU lies in the memory of the machine."""
    for plan in plans(deployment):
        need = memory(plan)
        if plan.instance.kind == "cpu" and need.weights is not None and _exceeds(need) > margin(plan):
            yield (
                "hosting.instance_type",
                f"{plan.instance.type!r} has {plan.instance.memory_in_gib} GiB of memory; the weights of "
                f"{plan.model_id} need {in_gb(need.weights)} of it; use a type with more memory, or a smaller model.",
            )


@error
def answer_fits_context(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Prompt and answer share the context."""
    for plan in plans(deployment):
        answer = deployment.serving.max_new_tokens
        if answer and plan.max_model_len and answer >= plan.max_model_len:
            yield (
                "serving.max_new_tokens",
                f"{answer:,} leaves no room for a prompt in {plan.max_model_len:,} tokens (serving.max_model_len); use "
                "fewer, or a longer context.",
            )
            return


def _tokens_needed_at_once(plan: Plan) -> int | None:
    """What the engine insists on at its start; None = nothing: TGI and others take what the cache holds."""
    if plan.engine in ("lmi-neuronx", "tgi-neuronx"):
        return plan.max_model_len and plan.max_model_len * (plan.batch or 1)
    checks = (
        plan.runs_vllm
        and not plan.length_is_automatic
        and not plan.runs_own_branch
        and (plan.vllm is None or numbers(plan.vllm) >= _CHECKS_CONTEXT_FROM)
    )
    return memory(plan).context if checks else None


def _prefill_tokens(plan: Plan) -> float | None:
    if plan.engine != "tgi" or plan.version is None or numbers(plan.version.label) >= (3,):
        return None
    asked = plan.number("MAX_INPUT_TOKENS", "MAX_INPUT_LENGTH")
    return plan.number("MAX_BATCH_PREFILL_TOKENS") or max(asked or 0, TGI_PREFILL)


def _cached_at_start(plan: Plan) -> float:
    """Tokens for which TGI keeps a cache at its warm-up; later versions take what is left for their default."""
    given = plan.number("MAX_BATCH_TOTAL_TOKENS")
    has_default = plan.version is not None and numbers(plan.version.label) < _COMPUTES_TOTAL_FROM
    return given or (_FIRST_TOTAL if has_default else 0)


def _has_windows(plan: Plan) -> bool:
    """Layers with a window keep less than the formula says, since vLLM keeps a cache for each kind of layer."""
    in_chunks = plan.shape is not None and plan.shape.architecture.startswith("Llama4")
    first = _KEEPS_CHUNKS_FROM if in_chunks else _KEEPS_WINDOWS_FROM
    keeps_all = plan.vllm is not None and numbers(plan.vllm) < first
    return plan.shape is not None and plan.shape.sliding_window is not None and not keeps_all


def _exceeds(need: Memory) -> float:
    return ((need.weights or 0) + need.overhead) / need.available if need.available else 0


def _too_large(plan: Plan, need: Memory) -> str:
    shared = f" on each of {plan.degree} accelerators" if plan.degree > 1 else ""
    kind = plan.quantization or plan.dtype or (plan.version and plan.version.default_dtype) or "16-bit"
    guessed = ", going by its name," if margin(plan) > 1 else ""
    return (
        f"{plan.instance.type!r} gives the engine {in_gb(need.available)}{shared}; the {kind} weights of "
        f"{plan.model_id}{guessed} need {in_gb(need.weights or 0)} there and the engine {in_gb(need.overhead)} beside"
    )


def _larger(plan: Plan) -> str:
    return f"use {_more_degree(plan)}a type with more memory, or quantized weights"


def _more_degree(plan: Plan) -> str:
    return "a higher serving.tensor_parallel_degree, " if plan.degree < plan.devices else ""


def _round(tokens: int) -> int:
    return tokens // 256 * 256

"""Rules over the options of single engines: by version, and limits that contradict each other."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ....catalog.engines import ENGINES, engine
from ....catalog.models import model_shape
from ....catalog.versions import is_before
from ....deployment.finding import Finding
from ....deployment.nearest import nearest
from ....resolution import Container, Resolution
from ....resolution.memory import whole_prompt_in_tokens
from ....resolution.variables import FIRST_ROLLING_BATCH, TGI_INPUT, TGI_PREFILL, TGI_TOTAL
from ..rule import error


class Option(NamedTuple):
    """An option, or some of its values, that only some versions of an engine read.

    values: None = all but `disable` and `auto`.
    first: the first version that reads it; None = all do.
    gone: the first version that no longer reads it; None = there is none.
    """

    engines: tuple[str, ...]
    variable: str
    values: tuple[str, ...] | None
    first: str | None
    gone: str | None
    fix: str


LMI = tuple(name for name in ENGINES if name.startswith("lmi-"))
# djl-serving, branches 0.22.1-dlc to 0.36.0; release notes of text-generation-inference.
_ENDS_CONTAINER = (
    Option(LMI, "OPTION_S3URL", None, None, "0.28", "set model.weights instead, or OPTION_MODEL_ID to the S3 URI"),
    Option(LMI, "OPTION_ROLLING_BATCH", None, FIRST_ROLLING_BATCH, None, "use a newer version"),
    Option(LMI, "OPTION_ROLLING_BATCH", ("vllm",), "0.24", None, "use a newer version, or lmi-dist"),
    Option(LMI, "OPTION_ROLLING_BATCH", ("scheduler",), None, "0.33", "remove it, or use vllm"),
    Option(LMI, "OPTION_ROLLING_BATCH", ("deepspeed",), None, "0.28", "remove it, or use vllm"),
    Option(LMI, "OPTION_ASYNC_MODE", ("true",), "0.33", None, "use a newer version"),
)
# Engines and rolling batches, and parts of the tags of the images that hold them.
_IN_IMAGES = {
    "vllm": ("lmi", "deepspeed", "neuronx"),
    "lmi-dist": ("lmi", "deepspeed"),
    "trtllm": ("tensorrtllm",),
    "DeepSpeed": ("deepspeed",),
    "FasterTransformer": ("fastertransformer",),
}
_TGI_LIMITS_BY_MODEL_FROM, _TGI_CHUNKS_PROMPTS_FROM = "2", "2.4"
_SPECULATIVE_CONFIGS = ("OPTION_SPECULATIVE_CONFIG", "SM_VLLM_SPECULATIVE_CONFIG")
_LMI_DRAFT = "OPTION_SPECULATIVE_DRAFT_MODEL"
_VLLM_WITHOUT_DRAFTS = ("0.10", "0.15")  # from V1 alone (vllm#21797) to V1's own drafts (vllm#24322)
# The tokens of a step: LMI's own name, and vLLM's names, which LMI passes on from 0.33.
_BATCHED_TOKENS = (
    "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
    "OPTION_MAX_NUM_BATCHED_TOKENS",
    "SM_VLLM_MAX_NUM_BATCHED_TOKENS",
)
_LARGE_GPU_IN_MIB, _LARGE_STEP, _USUAL_STEP = 70 * 1024, 8192, 2048
_CHANGES_BATCHED_TOKENS = re.compile(r"BATCHED_TOKENS|PERFORMANCE_MODE|DATA_PARALLEL|ALL2ALL|SM_VLLM_CONFIG")


@error
def option_fits_version(resolution: Resolution) -> Iterator[Finding]:
    """A version of an engine ends at some options that it does not know yet, or no longer."""
    yield from unread_options(resolution.container, _ENDS_CONTAINER)


def unread_options(container: Container, options: tuple[Option, ...]) -> Iterator[Finding]:
    """Yield one finding for each variable that the version does not read."""
    label, given = container.label, container.deployment.serving.environment
    found = set()
    for option in options:
        value = given.get(option.variable)
        is_meant = value in option.values if option.values else value not in (None, "", "disable", "auto")
        if container.engine not in option.engines or label is None or not is_meant or option.variable in found:
            continue
        if option.first and is_before(label, option.first):
            since = f"it came with {option.first}"
        elif option.gone and not is_before(label, option.gone):
            since = f"it was removed in {option.gone}"
        else:
            continue
        unread = f"{value!r} is not known to" if option.values else "is not read by"
        problem = f"{unread} {container.engine} {label}: {since}"
        found.add(option.variable)
        yield Finding(f"serving.environment.{option.variable}", problem, option.fix)


@error
def handler_fits_version(resolution: Resolution) -> Iterator[Finding]:
    """Built-in handlers of DJL Serving come and go with versions of the image; some have none for their engine."""
    container = resolution.container
    name, version = container.environment.get("OPTION_ENTRYPOINT"), container.version
    if container.server != "djl" or version is None or container.has_own_code:
        return
    has_default = engine(version.engine).default().handler is not None
    if name is None and has_default and version.handler is None:
        problem = f"{version.label!r} of {version.engine} has no built-in handler"
        yield Finding("serving.version", problem, "use a newer version, or bring your own with serving.handler")
    elif name is not None and name not in version.handlers:
        problem = f"{name!r} is not a handler of {version.engine} {version.label}"
        yield Finding("serving.environment.OPTION_ENTRYPOINT", problem, f"use {nearest(name, version.handlers)}")


@error
def library_is_in_image(resolution: Resolution) -> Iterator[Finding]:
    """Each image of DJL Serving holds one or two libraries, and can't use another."""
    container = resolution.container
    tag = (container.version.tag if container.version else None) or ""
    for name in ("OPTION_ROLLING_BATCH", "OPTION_ENGINE", "SERVING_ENGINE"):
        word = resolution.deployment.serving.environment.get(name, "")
        images = _IN_IMAGES.get(word, ())
        if container.server == "djl" and tag and images and not any(image in tag for image in images):
            problem = f"{word!r} is not in djl-inference:{tag}"
            fix = f"remove it, or use an image for {' or '.join(images)}"
            yield Finding(f"serving.environment.{name}", problem, fix)


@error
def tgi_limits(resolution: Resolution) -> Iterator[Finding]:
    """TGI ends at once if input, prefill and total contradict each other, and at unknown types (its launcher)."""
    container = resolution.container
    if not container.engine.startswith("tgi"):
        return
    word = container.environment.get("DTYPE", "")
    if container.engine == "tgi" and word not in ("", "float16", "bfloat16"):
        yield Finding("serving.environment.DTYPE", f"{word!r} is not a type of TGI", "use float16 or bfloat16")
    is_tgi, environment = container.engine == "tgi" and container.version is not None, "serving.environment"
    has_defaults = is_tgi and is_before(container.label, _TGI_LIMITS_BY_MODEL_FROM)
    chunks = is_tgi and not is_before(container.label, _TGI_CHUNKS_PROMPTS_FROM)
    name = "MAX_INPUT_TOKENS" if "MAX_INPUT_TOKENS" in container.environment else "MAX_INPUT_LENGTH"
    most = container.number(name) or (TGI_INPUT if has_defaults else None)
    total = container.number("MAX_TOTAL_TOKENS") or (TGI_TOTAL if has_defaults else None)
    prefill = container.number("MAX_BATCH_PREFILL_TOKENS") or (TGI_PREFILL if has_defaults else None)
    batch, compiled = container.number("MAX_BATCH_TOTAL_TOKENS"), container.number("HF_SEQUENCE_LENGTH")
    if most and total and most >= total:
        problem = f"{most:,.0f} tokens of input leave none of {total:,.0f} (MAX_TOTAL_TOKENS) for the answer"
        yield Finding(f"{environment}.{name}", problem, f"use {total - 1:,.0f} or less, or a larger total")
    if most and prefill and prefill < most and not chunks:
        problem = f"{prefill:,.0f} is less than the longest input, {most:,.0f} ({name}), so TGI ends at its start"
        yield Finding(f"{environment}.MAX_BATCH_PREFILL_TOKENS", problem, f"use {most:,.0f} or more")
    if batch and total and batch < total:
        problem = f"{batch:,.0f} is less than MAX_TOTAL_TOKENS, {total:,.0f}, so TGI ends at its start"
        yield Finding(f"{environment}.MAX_BATCH_TOTAL_TOKENS", problem, f"use {total:,.0f} or more")
    if is_tgi and not has_defaults and {"MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS"} <= container.environment.keys():
        yield Finding(
            f"{environment}.MAX_INPUT_LENGTH", "is refused beside MAX_INPUT_TOKENS, its new name", "remove one"
        )
    if container.engine == "tgi-neuronx" and compiled and total and total > compiled:
        problem = f"{total:,.0f} is more than the {compiled:,.0f} that the model is compiled for (HF_SEQUENCE_LENGTH)"
        yield Finding(f"{environment}.MAX_TOTAL_TOKENS", problem, f"use {compiled:,.0f}, or compile for more")


@error
def batch_fits_compilation(resolution: Resolution) -> Iterator[Finding]:
    """A model on Neuron is compiled for one batch size, which the server must use."""
    container = resolution.container
    compiled, served = container.number("HF_BATCH_SIZE"), container.number("MAX_BATCH_SIZE")
    if container.engine == "tgi-neuronx" and compiled and compiled != (served or compiled + 1):
        now = f"{served:.0f}" if served else "not set"
        problem = f"is {now}, but the model is compiled for batches of {compiled:.0f} (HF_BATCH_SIZE)"
        yield Finding("serving.environment.MAX_BATCH_SIZE", problem, "set both to the same number")


@error
def batched_tokens_fit_requests(resolution: Resolution) -> Iterator[Finding]:
    """vLLM ends if a step may have fewer tokens than requests run together, or than a prompt that it can't split.

    SchedulerConfig in its config.py; get_batch_defaults in arg_utils.py.
    """
    container = resolution.container
    yield from _more_requests_than_tokens(resolution)
    passes = container.server != "djl" or container.passes_options_on
    names = _BATCHED_TOKENS if passes else _BATCHED_TOKENS[:1]
    name = next((name for name in names if container.number(name)), "")
    tokens, prompt, batch = container.number(name), whole_prompt_in_tokens(container), container.max_batch_size or 0
    if container.vllm and not container.runs_own_branch and tokens and tokens < max(prompt, batch):
        needed = (
            f"{prompt:,} tokens of the longest prompt" if prompt > batch else f"{batch:,} requests that run together"
        )
        problem = f"{tokens:,.0f} is less than the {needed}, so vLLM {container.vllm} ends at its start"
        yield Finding(f"serving.environment.{name}", problem, f"use {max(prompt, batch)} or more, or remove it")


def _more_requests_than_tokens(resolution: Resolution) -> Iterator[Finding]:
    """Compare with the tokens that vLLM's own server takes by default; a model with images may have more."""
    container = resolution.container
    shape, batch = container.shape, container.max_batch_size or 0
    is_told = any(_CHANGES_BATCHED_TOKENS.search(name) for name in container.environment)
    if container.engine != "vllm" or shape is None or "ForCausalLM" not in shape.architecture or is_told:
        return
    for placement in resolution.placements:
        instance = placement.instance
        is_large = (instance.accelerator_memory_in_mib or 0) >= _LARGE_GPU_IN_MIB
        tokens = _LARGE_STEP if is_large and "A100" not in (instance.accelerator or "") else _USUAL_STEP
        if instance.kind == "gpu" and batch > max(tokens, whole_prompt_in_tokens(container)):
            problem = f"{batch:,} is more than the {tokens:,} tokens of a step, vLLM's default on {instance.type}"
            fix = f"use {tokens} or less, or set SM_VLLM_MAX_NUM_BATCHED_TOKENS to {batch} or more"
            yield Finding("serving.max_batch_size", problem, fix)
            return


@error
def draft_fits_model(resolution: Resolution) -> Iterator[Finding]:
    """vLLM compares the tokens of draft and model one by one, so both need the same vocabulary (vllm#14939)."""
    container = resolution.container
    name, draft = _draft(container)
    if not draft or container.vllm is None:
        return
    ours, theirs = container.shape, model_shape(draft)
    first, last = _VLLM_WITHOUT_DRAFTS
    if is_before(container.vllm, last) and not is_before(container.vllm, first):
        problem = f"names a draft model, {draft}, which vLLM {container.vllm} of this image does not support"
        yield Finding(f"serving.environment.{name}", problem, "use ngram or eagle, or another version")
    elif ours and theirs and ours.vocabulary and theirs.vocabulary and ours.vocabulary != theirs.vocabulary:
        problem = (
            f"names {draft}, with a vocabulary of {theirs.vocabulary:,}, but {container.model_id} has "
            f"{ours.vocabulary:,}"
        )
        yield Finding(f"serving.environment.{name}", problem, "use a draft model with the same vocabulary")


def _draft(container: Container) -> tuple[str, str]:
    """Return the variable and the Hub id of the draft model that it names; empty = none, or it may not be a draft.

    If no method is named, vLLM takes it from the draft's files: a whole model is a draft.
    """
    named: dict[str, dict[str, Any]] = {_LMI_DRAFT: {"model": container.environment.get(_LMI_DRAFT)}}
    named |= {name: _config(container.environment.get(name, "")) for name in _SPECULATIVE_CONFIGS}
    for name, config in named.items():
        draft, method = config.get("model"), config.get("method")
        is_draft = method == "draft_model" or (method is None and isinstance(draft, str) and model_shape(draft))
        if isinstance(draft, str) and is_draft:
            return name, draft
    return "", ""


def _config(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}

"""Rules over what TGI is told, on GPUs and on Neuron: limits, and the names of variables by version."""

from collections.abc import Iterator

from ..catalog.engines import numbers
from ..container_settings import TGI_INPUT, TGI_PREFILL, TGI_TOTAL
from ..deployment import Deployment
from .finding import error, warning
from .plan import Plan, container

_FIRST_LIMITS_BY_MODEL = (2,)
_CHUNKS_PROMPTS_FROM = (2, 4)
_FIRST_CHAT_BY_SHAPE = (2, 4)  # from here on TGI's /invocations takes chat bodies unasked
_FIRST_NAMED_TOKENS = (3,)


@error
def tgi_limits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI ends at once when input, prefill and total do not go together (the checks of its launcher)."""
    plan = container(deployment)
    if plan.engine == "tgi" and plan.version:
        yield from _tgi_limits(plan, has_defaults=numbers(plan.version.label) < _FIRST_LIMITS_BY_MODEL)
    compiled, total = plan.number("HF_SEQUENCE_LENGTH"), plan.number("MAX_TOTAL_TOKENS")
    if plan.engine == "tgi-neuronx":
        yield from _tgi_limits(plan, has_defaults=False)
        if compiled and total and total > compiled:
            yield (
                "serving.environment.MAX_TOTAL_TOKENS",
                f"{total:,.0f} is more than the {compiled:,.0f} that the model is compiled for (HF_SEQUENCE_LENGTH); "
                f"use {compiled:,.0f}, or compile for more.",
            )


def _tgi_limits(plan: Plan, *, has_defaults: bool) -> Iterator[tuple[str, str]]:
    """From 2.0 on, what is not given follows from the model and from what is."""
    name = "MAX_INPUT_TOKENS" if "MAX_INPUT_TOKENS" in plan.environment else "MAX_INPUT_LENGTH"
    most = plan.number(name) or (TGI_INPUT if has_defaults else None)
    total = plan.number("MAX_TOTAL_TOKENS") or (TGI_TOTAL if has_defaults else None)
    prefill = plan.number("MAX_BATCH_PREFILL_TOKENS") or (TGI_PREFILL if has_defaults else None)
    batch_total = plan.number("MAX_BATCH_TOTAL_TOKENS")
    chunks = plan.version is not None and plan.engine == "tgi" and numbers(plan.version.label) >= _CHUNKS_PROMPTS_FROM
    if most and total and most >= total:
        yield (
            f"serving.environment.{name}",
            f"{most:,.0f} tokens of input leave none of {total:,.0f} (MAX_TOTAL_TOKENS) for the answer; TGI wants "
            f"input < total: use {total - 1:,.0f} or less, or a larger total.",
        )
    if most and prefill and prefill < most and not chunks:
        yield (
            "serving.environment.MAX_BATCH_PREFILL_TOKENS",
            f"{prefill:,.0f} is less than the longest input, {most:,.0f} ({name}), at which TGI ends; use {most:,.0f} "
            "or more.",
        )
    if batch_total and total and batch_total < total:
        yield (
            "serving.environment.MAX_BATCH_TOTAL_TOKENS",
            f"{batch_total:,.0f} is less than MAX_TOTAL_TOKENS, {total:,.0f}, at which TGI ends; use {total:,.0f} or "
            "more.",
        )
    both = {"MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS"} <= plan.environment.keys()
    if plan.engine == "tgi" and not has_defaults and both:
        yield "serving.environment.MAX_INPUT_LENGTH", "is refused beside MAX_INPUT_TOKENS, its new name; remove one."


@error
def tgi_types(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI's launcher knows two types by their long names, and ends at any other word."""
    plan = container(deployment)
    word = plan.environment.get("DTYPE", "")
    if plan.engine == "tgi" and word not in ("", "float16", "bfloat16"):
        yield "serving.environment.DTYPE", f"{word!r} is no type of TGI; use float16 or bfloat16."


@warning
def variable_is_of_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Names that TGI no longer has, or did not have yet."""
    plan = container(deployment)
    if plan.engine != "tgi" or plan.version is None:
        return
    label, number, given = plan.version.label, numbers(plan.version.label), deployment.serving.environment
    if "MESSAGES_API_ENABLED" in given and not (1, 4) <= number < _FIRST_CHAT_BY_SHAPE:
        yield (
            "serving.environment.MESSAGES_API_ENABLED",
            f"has no effect on TGI {label}: it is read from 1.4 to 2.3, and from 2.4 on chats are known by shape; "
            "remove it.",
        )
    if "MAX_INPUT_LENGTH" in given and number >= _FIRST_NAMED_TOKENS:
        yield (
            "serving.environment.MAX_INPUT_LENGTH",
            "is called MAX_INPUT_TOKENS since TGI 3; rename it, or leave it out to have it computed from memory.",
        )

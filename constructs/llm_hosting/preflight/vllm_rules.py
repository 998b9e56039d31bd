"""Rules over what vLLM is told of its steps and of a draft model."""

import json
from collections.abc import Iterator
from typing import Any

from ..catalog.engines import numbers
from ..catalog.models import model_shape
from ..deployment import Deployment
from .finding import error
from .memory import whole_prompt_in_tokens
from .plan import Plan, container

_CONFIGS = ("OPTION_SPECULATIVE_CONFIG", "SM_VLLM_SPECULATIVE_CONFIG")
_LMI_DRAFT = "OPTION_SPECULATIVE_DRAFT_MODEL"
_WITHOUT_DRAFTS = ((0, 10), (0, 15))  # versions of vLLM: V1 alone (vllm#21797), until its own drafts (vllm#24322)
# Tokens of a step: LMI's own name for them, and vLLM's, which LMI passes on from 0.33.
_BATCHED_TOKENS = (
    "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
    "OPTION_MAX_NUM_BATCHED_TOKENS",
    "SM_VLLM_MAX_NUM_BATCHED_TOKENS",
)


@error
def batched_tokens_fit_requests(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Until it takes prompts in pieces, vLLM ends when a step may have fewer tokens than a prompt (its config.py)."""
    plan = container(deployment)
    passes = plan.server != "djl" or plan.passes_options_on
    names = _BATCHED_TOKENS if passes else _BATCHED_TOKENS[:1]
    name = next((name for name in names if plan.number(name)), "")
    tokens, prompt, batch = plan.number(name), whole_prompt_in_tokens(plan), plan.batch or 0
    if plan.vllm and not plan.runs_own_branch and tokens and tokens < max(prompt, batch):
        needed = f"{prompt:,} of the longest prompt" if prompt > batch else f"{batch:,} requests that run together"
        yield (
            f"serving.environment.{name}",
            f"{tokens:,.0f} is less than the {needed}, at which vLLM {plan.vllm} ends; use {max(prompt, batch)} or "
            "more, or remove it.",
        )


@error
def draft_fits_model(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM compares the tokens of draft and model one by one, so their vocabularies have to be one (vllm#14939)."""
    plan = container(deployment)
    name, draft = _draft(plan)
    if not draft or not plan.runs_vllm or plan.vllm is None:
        return
    ours, theirs = plan.shape, model_shape(draft)
    if _WITHOUT_DRAFTS[0] <= numbers(plan.vllm) < _WITHOUT_DRAFTS[1]:
        yield (
            f"serving.environment.{name}",
            f"names a draft model, {draft}, which vLLM {plan.vllm} of this image does not take; use ngram or eagle, or "
            "another version.",
        )
    elif ours and theirs and ours.vocabulary and theirs.vocabulary and ours.vocabulary != theirs.vocabulary:
        yield (
            f"serving.environment.{name}",
            f"names {draft}, with a vocabulary of {theirs.vocabulary:,}, where {plan.model_id} has "
            f"{ours.vocabulary:,}; use a draft model with the same.",
        )


def _draft(plan: Plan) -> tuple[str, str]:
    """The variable, and the Hub id of the draft model that it names; empty = none, or nothing says that it is one.

    Where no method is named, vLLM takes it from the files of what is: a whole model is a draft.
    """
    named = {_LMI_DRAFT: {"model": plan.environment.get(_LMI_DRAFT)}}
    named |= {name: _config(plan.environment.get(name, "")) for name in _CONFIGS}
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

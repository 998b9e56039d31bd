"""Rules over speculative decoding: a draft model beside the model."""

import json
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.model_names import shape_of
from ..deployment import Deployment
from .finding import error
from .plan import Plan, container

_CONFIGS = ("OPTION_SPECULATIVE_CONFIG", "SM_VLLM_SPECULATIVE_CONFIG")
_WITHOUT_DRAFTS = ((0, 10), (0, 16))  # versions of vLLM: V1 alone, and not yet with draft models (vllm#31883)


@error
def draft_fits_model(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM compares the tokens of draft and model one by one, so their vocabularies have to be one (vllm#14939)."""
    plan = container(deployment)
    name, draft = _draft(plan)
    if not draft or not plan.runs_vllm or plan.vllm is None:
        return
    ours, theirs = plan.shape, shape_of(draft)
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
    """The variable, and the Hub id of the draft model that it names; empty = none."""
    name = "OPTION_SPECULATIVE_DRAFT_MODEL"
    if draft := plan.environment.get(name):
        return name, draft
    for name in _CONFIGS:
        try:
            config = json.loads(plan.environment.get(name, ""))
        except json.JSONDecodeError:
            continue
        if isinstance(config, dict) and config.get("method", "draft_model") == "draft_model":
            return name, str(config.get("model", ""))
    return "", ""

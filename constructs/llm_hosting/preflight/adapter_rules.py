"""Rules over LoRA adapters: in place of a model, or beside it."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.instances import TURING
from ..catalog.models import model_shape
from ..deployment import Deployment
from .finding import warning
from .plan import Plan, container

_ADAPTER = re.compile(r"(?i)(?<![a-z])(q?lora|adapters?|peft)(?![a-z])")
_TGI_MERGES_FROM = (1, 0, 3)  # an adapter into its model (text-generation-inference#944)
_TGI_ADDS_FROM = (2, 1)  # release notes: several adapters to a model
_ASKED_OF_VLLM = ("OPTION_ENABLE_LORA", "SM_VLLM_ENABLE_LORA")
# vLLM's list of supported models, column LoRA; None of these had it before.
_VLLM_ADDS_FROM = {
    "QWenLMHeadModel": (0, 6, 4),
    **dict.fromkeys(
        ("BloomForCausalLM", "GPT2LMHeadModel", "GPTJForCausalLM", "GPTNeoXForCausalLM", "OPTForCausalLM"), (0, 10)
    ),
}


@warning
def adapter_needs_its_model(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Engines read the config.json of a whole model, which a repository of LoRA weights has not; newer TGI merges."""
    plan = container(deployment)
    named = _ADAPTER.search(plan.model_id)
    merges = plan.server == "tgi" and (plan.version is None or numbers(plan.version.label) >= _TGI_MERGES_FROM)
    is_whole = model_shape(plan.model_id) is not None or "merged" in plan.model_id.lower()
    if named and not is_whole and not merges and plan.server not in ("own", "llama-cpp"):
        yield (
            "model.id",
            f"{plan.model_id!r} looks like an adapter ({named[0]}), which {plan.engine} can't load as a model; use the "
            "model that it was trained on and load the adapter beside it, or merge the two.",
        )


@warning
def adapters_fit_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI adds adapters to the text models that it runs by flash attention, and to weights that are not GPTQ's.

    vLLM adds them to the models whose code is prepared for it.
    """
    plan = container(deployment)
    name = next((name for name in _ASKED_OF_VLLM if plan.says_yes(name)), "")
    architecture = plan.shape.architecture if plan.shape else ""
    if plan.vllm and name and numbers(plan.vllm) < _VLLM_ADDS_FROM.get(architecture, ()):
        yield (
            f"serving.environment.{name}",
            f"true is refused: vLLM {plan.vllm} of this image adds no adapters to {architecture}; use a newer version, "
            "or merge them into the model.",
        )
    if plan.engine != "tgi" or plan.version is None or "LORA_ADAPTERS" not in plan.environment:
        return
    if numbers(plan.version.label) < _TGI_ADDS_FROM:
        yield "serving.environment.LORA_ADAPTERS", f"is not read by TGI {plan.version.label}; use 2.2.0 or newer."
    elif reason := _why_not_added(plan):
        yield (
            "serving.environment.LORA_ADAPTERS",
            f"is likely to end TGI at its start: {reason}; merge the adapter into the model, or use lmi-vllm.",
        )


def _why_not_added(plan: Plan) -> str | None:
    if plan.environment.get("USE_FLASH_ATTENTION", "").lower() in ("false", "0"):
        return "without flash attention it loads none (text-generation-inference#2400)"
    if (plan.instance.compute_capability or TURING) < TURING:
        return f"the {plan.instance.accelerator} has no flash attention, without which it loads none"
    if plan.shape and plan.shape.architecture.endswith("ForConditionalGeneration"):
        return f"it loads none for {plan.shape.architecture} (text-generation-inference#2362, #3335)"
    if plan.quantization == "gptq":
        return "it loads none for GPTQ weights (text-generation-inference#2653)"
    return None

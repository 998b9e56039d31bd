"""Rules over what computes quantized weights and caches: the GPUs that it runs on, and how far it can be split."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.instances import ADA, AMPERE, BLACKWELL, HOPPER, TURING
from ..deployment import Deployment
from .finding import error, warning
from .plan import Plan, plans
from .quantization_rules import MADE_BEFORE

# Least compute capability of the kernels: vLLM docs, features/quantization, "supported hardware"; TGI docs,
# conceptual/quantization. FP8 weights run on older GPUs too, through Marlin.
_LEAST_CAPABILITY = {"awq": TURING, "fp8": AMPERE, "mxfp4": AMPERE, "nvfp4": AMPERE}
# What versions of vLLM before these need: FP8 weights by Marlin (vllm#6689, on Turing vllm#29901), MXFP4 by Triton
# (vllm#22331), NVFP4 by Marlin (vllm#18312). None = all later ones.
_LEAST_BY_VLLM = {
    "fp8": (((0, 5), HOPPER), ((0, 5, 3), ADA), ((0, 13), AMPERE), (None, TURING)),
    "mxfp4": (((0, 10, 2), HOPPER),),
    "nvfp4": (((0, 9), BLACKWELL),),
    "int8": ((None, TURING),),
}
_BY_MARLIN = re.compile(r"w[48]a16", re.IGNORECASE)
# Whose files have one scale for each block of 128; others have one for each tensor or channel.
_BLOCKWISE_FP8 = ("qwen/", "deepseek-ai/", "moonshotai/", "minimaxai/", "stepfun-ai/")
_BLOCK = 128
_TILE = 32  # of Marlin, which computes FP8 on GPUs without such cores: 64 rows of two matrices in one (GLM-4.5#94)
_EXPERT_PARALLEL = ("OPTION_ENABLE_EXPERT_PARALLEL", "SM_VLLM_ENABLE_EXPERT_PARALLEL", "SM_SGLANG_ENABLE_EP_MOE")
_EXPERT_PARALLEL_SIZE = "SM_SGLANG_EP_SIZE"
_SPLITS_EXPERTS_IN_FP8_FROM = (0, 9)  # before, mixtures of experts had no Marlin (sgl-project/sglang#989)
_V1_ALONE_FROM = (0, 10)  # whose attention computes an FP8 cache by cores for it (vllm#26431)
_IN_SMALL_GROUPS = ("cpatonn/", "cyankiwi/")  # of 32
# In compressed tensors, whose schemes needed Ampere at first (vllm#29732, #29901, #31008).
_IN_TENSORS = ("redhatai/", "neuralmagic/", *_IN_SMALL_GROUPS)
_TENSORS_ON_TURING_FROM = {"awq": (0, 12)}  # the others from 0.14 on
_UNPACKS_FP8_FROM = (5,)  # transformers, quantizer_finegrained_fp8.py


@error
def quantization_fits_accelerator(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Kernels of quantized formats need a generation of GPUs."""
    for plan in plans(deployment):
        capability, quantization = plan.instance.compute_capability, plan.quantization or ""
        least = _least_capability(quantization, plan.vllm)
        in_tensors = bool(_BY_MARLIN.search(plan.model_id)) or plan.model_id.lower().startswith(_IN_TENSORS)
        needs_ampere = plan.vllm is not None and numbers(plan.vllm) < _TENSORS_ON_TURING_FROM.get(quantization, (0, 14))
        if needs_ampere and in_tensors and quantization not in ("", "int8"):
            least = max(AMPERE, least or AMPERE)
        if quantization == "fp8" and _needs_fp8_cores(plan, in_tensors=in_tensors):
            least = ADA
        if quantization == "nvfp4" and plan.engine == "lmi-tensorrt-llm":
            least = BLACKWELL
        if capability and least and capability < least:
            yield (
                "model.quantization",
                f"{quantization} needs compute capability {least} or more here; the {plan.instance.accelerator} of "
                f"{plan.instance.type} has {capability}: use a newer type, a newer image, or other weights.",
            )


@warning
def kv_cache_fits_accelerator(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A KV cache in FP8 is computed by cores for it, which came with Ada and Hopper."""
    for plan in plans(deployment):
        capability, in_fp8 = plan.instance.compute_capability, plan.kv_cache_type in ("fp8", "fp8_e4m3")
        if in_fp8 and capability and capability < ADA and numbers(plan.vllm or "0") >= _V1_ALONE_FROM:
            yield (
                f"serving.environment.{plan.kv_cache_variable}",
                f"{plan.kv_cache_type} for the KV cache needs compute capability 8.9 with vLLM {plan.vllm}; the "
                f"{plan.instance.accelerator} of {plan.instance.type} has {capability}: leave it out, or use a newer "
                "type.",
            )


def _needs_fp8_cores(plan: Plan, *, in_tensors: bool) -> bool:
    """Whether nothing but the GPU's own cores for FP8 computes it.

    In vLLM, mixtures of experts before 0.9; in transformers before 5, all but compressed tensors.
    """
    if plan.engine == "lmi-tensorrt-llm":
        return True
    if plan.server == "huggingface":
        transformers = plan.version.transformers if plan.version else None
        return not in_tensors and not plan.may_have_own_code and numbers(transformers or "5") < _UNPACKS_FP8_FROM
    return plan.is_mixture and plan.vllm is not None and numbers(plan.vllm) < _SPLITS_EXPERTS_IN_FP8_FROM


def _least_capability(quantization: str, vllm: str | None) -> float | None:
    eras = _LEAST_BY_VLLM.get(quantization, ()) if vllm else ()
    early = (least for before, least in eras if before is None or numbers(vllm or "") < before)
    return next(early, _LEAST_CAPABILITY.get(quantization))


@error
def blocks_fit_degree(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Formats with a scale for each block of weights can't be split within one, nor Marlin's tiles."""
    for plan in plans(deployment):
        width, stored = plan.shape.intermediate_size if plan.shape else None, plan.stored_quantization
        # Another branch of a repository may have smaller groups.
        in_groups = not plan.revision and not plan.model_id.lower().startswith(_IN_SMALL_GROUPS)
        in_blocks = (stored in MADE_BEFORE and in_groups) or (
            stored == "fp8" and plan.model_id.lower().startswith(_BLOCKWISE_FP8)
        )
        is_spread = plan.says_yes(*_EXPERT_PARALLEL) or (plan.number(_EXPERT_PARALLEL_SIZE) or 1) > 1
        if not width or plan.degree == 1 or (is_spread and plan.is_mixture):
            continue
        rows, rest = divmod(width, plan.degree)
        if in_blocks and (plan.runs_vllm or plan.engine in ("sglang", "tgi")) and (rest or rows % _BLOCK):
            spread = ", or expert parallelism" if plan.is_mixture else ""
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} splits the {width:,} rows of {plan.model_id} within blocks of {_BLOCK}, which share a "
                f"scale in {stored}; use a lower degree{spread}, or weights that are not quantized.",
            )
        capability = plan.instance.compute_capability or ADA
        if stored == "fp8" and not in_blocks and plan.runs_vllm and capability < ADA and (rest or rows % _TILE):
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} splits the {width:,} rows of {plan.model_id} into parts that the tiles of Marlin do "
                f"not fit, by which the {plan.instance.accelerator} of {plan.instance.type} computes FP8; use a lower "
                "degree, or a type with cores for FP8 such as ml.g6e or ml.p5.",
            )

"""Rules over quantized weights: which engines and versions take which format, from which files, on which GPUs."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.models import model_shape
from ..deployment import Deployment
from .finding import error, warning
from .hardware_rules import ADA, AMPERE, BLACKWELL, HOPPER, TURING
from .plan import KV_CACHE_TYPES, Plan, container, plans

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
# bitsandbytes in vLLM: at all, and over several GPUs: what it quantizes at load, what is quantized in the files.
_FIRST_BITSANDBYTES, _SPLITS_FROM = (0, 5), ((0, 6, 2), (0, 9))
# The models that it came to later (vllm#8941, #8338, #11687).
_BITSANDBYTES_OF = {
    "Qwen2ForCausalLM": (0, 6, 4),
    "Gemma2ForCausalLM": (0, 6, 2),
    "Qwen2VLForConditionalGeneration": (0, 7),
}
_EXPERT_PARALLEL = ("OPTION_ENABLE_EXPERT_PARALLEL", "SM_VLLM_ENABLE_EXPERT_PARALLEL", "SM_SGLANG_ENABLE_EP_MOE")
_EXPERT_PARALLEL_SIZE = "SM_SGLANG_EP_SIZE"
_FIRST_BY_VLLM = {"awq": (0, 2), "gptq": (0, 2, 6), "fp8": (0, 4, 1)}  # its release notes
_SPLITS_EXPERTS_IN_FP8_FROM = (0, 9)  # before, mixtures of experts had no Marlin (sgl-project/sglang#989)
_V1_ALONE_FROM = (0, 10)  # whose attention computes an FP8 cache by cores for it (vllm#26431)
_BY_MARLIN_FROM = {"awq": (0, 5, 4), "gptq": (0, 4, 2)}  # its kernels take bf16, where nobody names the plain ones
_MADE_BEFORE = {"awq", "gptq"}  # by who packed the weights; the other formats, engines can make at load
# What reads the format from the files: TGI (text-generation-inference#1719), vLLM (vllm#1695).
_TGI_READS_FORMAT_FROM, _VLLM_READS_FORMAT_FROM = (2, 0), (0, 2, 2)
_IN_TENSORS = ("redhatai/", "neuralmagic/")  # compressed tensors, whose schemes need Ampere
_TRTLLM_READS_FILES_FROM = (0, 28)  # certain up to 0.27
_COMPRESSED_TENSORS = re.compile(r"quantized\.w\d+a\d+", re.IGNORECASE)  # how Neural Magic and Red Hat name them
_TGI_READS_THEM_FROM = (3,)
_UNPACKS_FP8_FROM = (5,)  # transformers, quantizer_finegrained_fp8.py
# The values of its launcher's `quantize`; that of 0.6.0 was a switch.
_TGI_WORDS = ("awq", "bitsandbytes", "bitsandbytes-fp4", "bitsandbytes-nf4", "eetq", "exl2", "fp8", "gptq", "marlin")
_TGI_NAMES_FORMATS_FROM = (0, 8)
_NOT_OF_AUTO_MODEL = {"awq", "gptq", "bitsandbytes4"}  # what TGI leaves to transformers (its models/__init__.py)


@error
def quantization_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of vLLM load some formats, split some, and compute with some in fp16 only."""
    plan = container(deployment)
    yield from _bitsandbytes(plan)
    for each in plans(deployment):
        yield from _blocks(each)
    quantization = plan.quantization or ""
    if not plan.runs_own_branch and numbers(plan.vllm or "9") < _FIRST_BY_VLLM.get(quantization, ()):
        yield (
            "serving.version",
            f"{plan.version.label if plan.version else ''} holds vLLM {plan.vllm}, which does not know "
            f"{quantization.upper()} yet; use a newer version.",
        )
    if plan.stored_quantization == "fp8" and plan.kv_cache_type == "fp8_e5m2" and plan.runs_vllm:
        yield _cache_variable(plan), "fp8_e5m2 is refused with weights in FP8; use fp8_e4m3, or fp8."
    named = (plan.by_hand("quantization") or "").lower() == quantization
    by_plain_kernels = named or numbers(plan.vllm or "9") < _BY_MARLIN_FROM.get(quantization, ())
    if plan.dtype == "bf16" and plan.runs_vllm and quantization in _MADE_BEFORE and by_plain_kernels:
        yield (
            "model.dtype",
            f"bf16 is refused with {quantization.upper()}, whose kernels compute in fp16; use fp16, or leave it out.",
        )


@error
def quantization_fits_tgi(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of TGI know formats by name, and only for the models that TGI has code of its own for."""
    plan = container(deployment)
    if plan.engine != "tgi" or plan.version is None:
        return
    label, known, quantization = plan.version.label, plan.version.quantizations, plan.quantization
    word = plan.by_hand("quantization") or ""
    is_switch = word in ("true", "false") and numbers(label) < _TGI_NAMES_FORMATS_FROM
    if word and word not in (*_TGI_WORDS, "compressed-tensors") and not is_switch:
        yield (
            "serving.environment.HF_MODEL_QUANTIZE",
            f"{word!r} is no format of TGI, which ends at once; remove it, or use one of {', '.join(_TGI_WORDS)}.",
        )
    elif quantization not in (None, "gguf", *known):
        yield (
            "model.quantization",
            f"{quantization} is not known to TGI {label}; use a newer version, or one of {', '.join(known)}.",
        )
    elif quantization in _NOT_OF_AUTO_MODEL and plan.is_left_to_transformers:
        yield (
            "model.quantization",
            f"{quantization} is refused: TGI {label} leaves {plan.model_id} to transformers, without such kernels; use "
            "other weights, or another engine.",
        )
    elif _COMPRESSED_TENSORS.search(plan.model_id) and numbers(label) < _TGI_READS_THEM_FROM:
        yield (
            "model.id",
            f"{plan.model_id!r} holds compressed tensors, which TGI {label} can't read; use 3.0.1 or newer, or vllm.",
        )


@error
def quantization_fits_files(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Asked for one format, engines end at once when the files have another."""
    plan = container(deployment)
    asked, stored = plan.asked_quantization, plan.stored_quantization
    label = plan.version.label if plan.version else "99"
    if plan.engine == "lmi-tensorrt-llm" and stored in _MADE_BEFORE and numbers(label) < _TRTLLM_READS_FILES_FROM:
        yield (
            "model.id",
            f"{plan.model_id!r} holds {stored} weights, of which TensorRT-LLM in {label} can't build an engine; use "
            "the model that they were made from, with model.quantization: awq.",
        )
    if not plan.comes_from_hub or not (plan.vllm or plan.engine in ("tgi", "sglang")):
        return
    converts = plan.engine == "tgi" and (asked, stored) == ("gptq", "awq")  # for the faster kernels
    listed = model_shape(plan.model_id) is not None and plan.revision is None
    if asked and stored in _MADE_BEFORE and asked != stored and not converts:
        yield "model.quantization", f"{asked} is not how {plan.model_id} is quantized ({stored}); use {stored}."
    elif asked in (*_MADE_BEFORE, "mxfp4") and stored is None and listed:
        yield (
            "model.quantization",
            f"{asked} needs weights that are quantized already, and those of {plan.model_id} are not; use a repository "
            "with such weights, or remove the setting.",
        )


@error
def quantization_is_said(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Older TGI and vLLM take quantized weights for plain ones unless they are told."""
    plan = container(deployment)
    label = plan.version.label if plan.version else "99"
    if plan.engine == "tgi":
        name, is_old = f"TGI {label}", numbers(label) < _TGI_READS_FORMAT_FROM
    else:
        name, is_old = f"vLLM {plan.vllm}", numbers(plan.vllm or "99") < _VLLM_READS_FORMAT_FROM
    stored = plan.stored_quantization
    if is_old and stored in _MADE_BEFORE and not plan.asked_quantization and plan.comes_from_hub:
        yield (
            "model.quantization",
            f"is missing: {name} does not read from the files of {plan.model_id} that they are quantized; set it to "
            f"{stored}.",
        )


@error
def quantization_fits_accelerator(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Kernels of quantized formats need a generation of GPUs."""
    for plan in plans(deployment):
        capability, quantization = plan.instance.compute_capability, plan.quantization or ""
        least = _least_capability(quantization, plan.vllm)
        in_tensors = bool(_BY_MARLIN.search(plan.model_id)) or plan.model_id.lower().startswith(_IN_TENSORS)
        if plan.runs_vllm and plan.version and in_tensors and quantization != "int8":
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
                _cache_variable(plan),
                f"{plan.kv_cache_type} for the KV cache needs compute capability 8.9 with vLLM {plan.vllm}; the "
                f"{plan.instance.accelerator} of {plan.instance.type} has {capability}: leave it out, or use a newer "
                "type.",
            )


def _cache_variable(plan: Plan) -> str:
    return next(f"serving.environment.{name}" for name in KV_CACHE_TYPES if plan.environment.get(name))


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


def _blocks(plan: Plan) -> Iterator[tuple[str, str]]:
    """Formats with a scale for each block of weights can't be split within one."""
    width, stored = plan.shape.intermediate_size if plan.shape else None, plan.stored_quantization
    # Another branch of a repository may have smaller groups.
    in_blocks = (stored in _MADE_BEFORE and not plan.revision) or (
        stored == "fp8" and plan.model_id.lower().startswith(_BLOCKWISE_FP8)
    )
    is_spread = plan.says_yes(*_EXPERT_PARALLEL) or (plan.number(_EXPERT_PARALLEL_SIZE) or 1) > 1
    if not width or plan.degree == 1 or (is_spread and plan.is_mixture):
        return
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
            f"{plan.degree} splits the {width:,} rows of {plan.model_id} into parts that Marlin's tiles do not fit, by "
            f"which the {plan.instance.accelerator} of {plan.instance.type} computes FP8; use a lower degree, or a "
            "type with cores for FP8 such as ml.g6e or ml.p5.",
        )


def _bitsandbytes(plan: Plan) -> Iterator[tuple[str, str]]:
    """Release notes of vLLM: bitsandbytes came with 0.5.0, splitting with 0.6.2, of quantized files with 0.9."""
    if plan.quantization != "bitsandbytes4" or plan.vllm is None or plan.runs_own_branch:
        return
    if numbers(plan.vllm) < _FIRST_BITSANDBYTES:
        yield "model.quantization", f"bitsandbytes is not known to vLLM {plan.vllm} of this image; use a newer version."
    elif plan.degree > 1 and numbers(plan.vllm) < _SPLITS_FROM[plan.stored_quantization is not None]:
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree}: vLLM {plan.vllm} of this image does not split weights that bitsandbytes quantizes"
            f"{' already' if plan.stored_quantization else ''}; use 1, or a newer version.",
        )
    elif plan.kin and numbers(plan.vllm) < _BITSANDBYTES_OF.get(plan.kin.architecture, ()):
        yield (
            "model.quantization",
            f"bitsandbytes is not made for {plan.kin.architecture} in vLLM {plan.vllm} of this image; use a newer "
            "version, or AWQ weights.",
        )

"""Rules over quantized weights: which engines and versions take which format, from which files, on which GPUs."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.models import model_shape
from ..deployment import Deployment
from .finding import error
from .plan import Plan, container

# bitsandbytes in vLLM: at all, and over several GPUs: what it quantizes at load, what is quantized in the files.
_FIRST_BITSANDBYTES, _SPLITS_FROM = (0, 5), ((0, 6, 2), (0, 9))
# The models that it came to later (vllm#8941, #8338, #11687).
_BITSANDBYTES_OF = {
    "Qwen2ForCausalLM": (0, 6, 4),
    "Gemma2ForCausalLM": (0, 6, 2),
    "Qwen2VLForConditionalGeneration": (0, 7),
}
_FIRST_BY_VLLM = {"awq": (0, 2), "gptq": (0, 2, 6), "fp8": (0, 4, 1)}  # its release notes
_BY_MARLIN_FROM = {"awq": (0, 5, 4), "gptq": (0, 4, 2)}  # its kernels take bf16, where nobody names the plain ones
MADE_BEFORE = {"awq", "gptq"}  # by who packed the weights; the other formats, engines can make at load
# What reads the format from the files: TGI (text-generation-inference#1719), vLLM (vllm#1695).
_TGI_READS_FORMAT_FROM, _VLLM_READS_FORMAT_FROM = (2, 0), (0, 2, 2)
_TRTLLM_READS_FILES_FROM = (0, 28)  # certain up to 0.27
_COMPRESSED_TENSORS = re.compile(r"quantized\.w\d+a\d+", re.IGNORECASE)  # how Neural Magic and Red Hat name them
_TGI_READS_THEM_FROM = (3,)
# The values of its launcher's `quantize`; that of 0.6.0 was a switch.
_TGI_WORDS = ("awq", "bitsandbytes", "bitsandbytes-fp4", "bitsandbytes-nf4", "eetq", "exl2", "fp8", "gptq", "marlin")
_TGI_NAMES_FORMATS_FROM = (0, 8)
_NOT_OF_AUTO_MODEL = {"awq", "gptq", "bitsandbytes4"}  # what TGI leaves to transformers (its models/__init__.py)


@error
def quantization_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of vLLM load some formats, split some, and compute with some in fp16 only."""
    plan = container(deployment)
    yield from _bitsandbytes(plan)
    quantization = plan.quantization or ""
    if not plan.runs_own_branch and numbers(plan.vllm or "9") < _FIRST_BY_VLLM.get(quantization, ()):
        yield (
            "serving.version",
            f"{plan.version.label if plan.version else ''} holds vLLM {plan.vllm}, which does not know "
            f"{quantization.upper()} yet; use a newer version.",
        )
    if plan.stored_quantization == "fp8" and plan.kv_cache_type == "fp8_e5m2" and plan.runs_vllm:
        yield (
            f"serving.environment.{plan.kv_cache_variable}",
            "fp8_e5m2 is refused with weights in FP8; use fp8_e4m3, or fp8.",
        )
    named = (plan.by_hand("quantization") or "").lower() == quantization
    by_plain_kernels = named or numbers(plan.vllm or "9") < _BY_MARLIN_FROM.get(quantization, ())
    if plan.dtype == "bf16" and plan.runs_vllm and quantization in MADE_BEFORE and by_plain_kernels:
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
    if plan.engine == "lmi-tensorrt-llm" and stored in MADE_BEFORE and numbers(label) < _TRTLLM_READS_FILES_FROM:
        yield (
            "model.id",
            f"{plan.model_id!r} holds {stored} weights, of which TensorRT-LLM in {label} can't build an engine; use "
            "the model that they were made from, with model.quantization: awq.",
        )
    if not plan.comes_from_hub or not (plan.vllm or plan.engine in ("tgi", "sglang")):
        return
    converts = plan.engine == "tgi" and (asked, stored) == ("gptq", "awq")  # for the faster kernels
    listed = model_shape(plan.model_id) is not None and plan.revision is None
    if asked and stored in MADE_BEFORE and asked != stored and not converts:
        yield "model.quantization", f"{asked} is not how {plan.model_id} is quantized ({stored}); use {stored}."
    elif asked in (*MADE_BEFORE, "mxfp4") and stored is None and listed:
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
    if is_old and stored in MADE_BEFORE and not plan.asked_quantization and plan.comes_from_hub:
        yield (
            "model.quantization",
            f"is missing: {name} does not read from the files of {plan.model_id} that they are quantized; set it to "
            f"{stored}.",
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

"""Rules over quantized weights: which engines and versions take which format, from which files, on which GPUs."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.models import model_shape
from ..deployment import Deployment
from .finding import error
from .hardware_rules import ADA, AMPERE, HOPPER, TURING
from .plan import Plan, container, plans

# Least compute capability of the kernels: vLLM docs, features/quantization, "supported hardware"; TGI docs,
# conceptual/quantization. FP8 weights run on Ampere too, through Marlin.
_LEAST_CAPABILITY = {"awq": TURING, "fp8": AMPERE, "mxfp4": AMPERE, "nvfp4": AMPERE}
# What versions of vLLM before these need: FP8 weights by Marlin (vllm#6689), MXFP4 by Triton (vllm#22331).
_LEAST_BY_VLLM = {"fp8": (((0, 5), HOPPER), ((0, 5, 3), ADA)), "mxfp4": (((0, 10, 2), HOPPER),)}
_BY_MARLIN = re.compile(r"w[48]a16", re.IGNORECASE)
_BLOCKS = {"awq": 128, "gptq": 128, "fp8": 128}
_FIRST_BITSANDBYTES, _SPLITS_BITSANDBYTES_FROM = (0, 5), (0, 9)
_AWQ_BY_MARLIN_FROM = (0, 5, 4)  # its kernels take bf16, where nobody asks for the plain ones
_MADE_BEFORE = {"awq", "gptq"}  # by who packed the weights; the other formats, engines can make at load
# What reads the format from the files: TGI's launcher (get_max_positions_quantize), vLLM's config.py.
_TGI_READS_FORMAT_FROM, _VLLM_READS_FORMAT_FROM = (2, 2), (0, 2, 2)
_COMPRESSED_TENSORS = re.compile(r"quantized\.w\d+a\d+", re.IGNORECASE)  # how Neural Magic and Red Hat name them
_TGI_READS_THEM_FROM = (3,)
# The values of its launcher's `quantize`; that of 0.6.0 was a switch.
_TGI_WORDS = {
    "",
    "awq",
    "eetq",
    "exl2",
    "gptq",
    "marlin",
    "bitsandbytes",
    "bitsandbytes-nf4",
    "bitsandbytes-fp4",
    "fp8",
}
_TGI_WORDS |= {"compressed-tensors"}
_TGI_NAMES_FORMATS_FROM = (0, 8)
_NOT_OF_AUTO_MODEL = {"awq", "gptq", "bitsandbytes4"}  # what TGI leaves to transformers (its models/__init__.py)


@error
def quantization_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of TGI know formats by name; vLLM's kernels for AWQ, asked for by name, compute in fp16 only."""
    plan = container(deployment)
    quantization = plan.quantization
    known = plan.version.quantizations if plan.version and plan.engine == "tgi" else ()
    label = plan.version.label if plan.version else ""
    word = (plan.by_hand("quantization") or "").lower()
    is_switch = word in ("true", "false") and numbers(label) < _TGI_NAMES_FORMATS_FROM
    if known and word not in _TGI_WORDS and not is_switch:
        yield (
            "serving.environment.HF_MODEL_QUANTIZE",
            f"{word!r} is no format of TGI, which ends at once; use one of {', '.join(known)} as model.quantization, "
            "or remove it.",
        )
    if known and quantization not in (None, "gguf", *known):
        yield (
            "model.quantization",
            f"{quantization} is not known to TGI {label}; use a newer version, or one of {', '.join(known)}.",
        )
    elif plan.engine == "tgi" and quantization in _NOT_OF_AUTO_MODEL and plan.is_left_to_transformers:
        yield (
            "model.quantization",
            f"{quantization} is refused: TGI {label} leaves {plan.model_id} to transformers, without such kernels; use "
            "other weights, or another engine.",
        )
    if (
        plan.engine == "tgi"
        and _COMPRESSED_TENSORS.search(plan.model_id)
        and numbers(label or "99") < _TGI_READS_THEM_FROM
    ):
        yield (
            "model.id",
            f"{plan.model_id!r} holds compressed tensors, which TGI {label} can't read; use 3.0.1 or vllm.",
        )
    yield from _bitsandbytes(plan)
    yield from _blocks(plan)
    named = (plan.by_hand("quantization") or "").lower() == "awq"
    implied = quantization == "awq" and numbers(plan.vllm or "9") < _AWQ_BY_MARLIN_FROM
    if plan.dtype == "bf16" and plan.runs_vllm and (named or implied):
        yield "model.dtype", "bf16 is refused with AWQ, whose kernels compute in fp16; use fp16, or leave it out."


@error
def quantization_fits_files(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Asked for one format, engines end at once when the files have another; older TGI has to be told which it is."""
    plan = container(deployment)
    if not plan.comes_from_hub or not (plan.vllm or plan.engine in ("tgi", "sglang")):
        return
    asked, stored = plan.asked_quantization, plan.stored_quantization
    converts = plan.engine == "tgi" and (asked, stored) == ("gptq", "awq")  # for the faster kernels
    listed = model_shape(plan.model_id) is not None and plan.revision is None
    if asked and stored in _MADE_BEFORE and asked != stored and not converts:
        yield "model.quantization", f"{asked} is not how {plan.model_id} is quantized ({stored}); use {stored}."
    elif asked in _MADE_BEFORE and stored is None and listed:
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
        if plan.runs_vllm and _BY_MARLIN.search(plan.model_id):
            least = AMPERE
        elif plan.runs_vllm and quantization == "int8":
            least = TURING
        elif plan.engine == "lmi-tensorrt-llm" and quantization == "fp8":
            least = ADA
        if capability and least and capability < least:
            yield (
                "model.quantization",
                f"{quantization} needs compute capability {least} or more here; the {plan.instance.accelerator} of "
                f"{plan.instance.type} has {capability}: use a newer type, a newer image, or other weights.",
            )


def _least_capability(quantization: str, vllm: str | None) -> float | None:
    eras = _LEAST_BY_VLLM.get(quantization, ())
    early = next((least for before, least in eras if vllm and numbers(vllm) < before), None)
    return early or _LEAST_CAPABILITY.get(quantization)


def _blocks(plan: Plan) -> Iterator[tuple[str, str]]:
    """Formats with a scale for each block of weights can't be split within one."""
    width = plan.shape.intermediate_size if plan.shape else None
    block = _BLOCKS.get(plan.stored_quantization or "")
    splits = plan.runs_vllm or plan.engine in ("sglang", "tgi")
    if block and width and splits and plan.degree > 1 and (width % plan.degree or (width // plan.degree) % block):
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree} splits the {width:,} rows of {plan.model_id} within blocks of {block}, which share a scale "
            f"in {plan.stored_quantization}; use a lower degree, or weights that are not quantized.",
        )


def _bitsandbytes(plan: Plan) -> Iterator[tuple[str, str]]:
    """Release notes of vLLM: bitsandbytes came with 0.5.0, splitting files that are quantized already with 0.9."""
    if plan.quantization != "bitsandbytes4" or plan.vllm is None:
        return
    if numbers(plan.vllm) < _FIRST_BITSANDBYTES:
        yield "model.quantization", f"bitsandbytes is not known to vLLM {plan.vllm} of this image; use a newer version."
    elif plan.stored_quantization and plan.degree > 1 and numbers(plan.vllm) < _SPLITS_BITSANDBYTES_FROM:
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree}: vLLM {plan.vllm} of this image does not split files that are quantized by bitsandbytes "
            "already; use 1, or a newer version.",
        )

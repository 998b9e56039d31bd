"""Rules over quantized weights and caches: formats by engine and version, files, and the GPUs that compute them."""

from collections.abc import Iterator

from ...catalog.instances import ADA, AMPERE, BLACKWELL, HOPPER, TURING
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Resolution
from ...resolution.parallelism import blocks_divide, parts_of_rows
from .rule import error, warning
from .suitable_type import SUCH_AS

_PACKED_BEFORE = {"awq", "gptq"}
# First versions of vLLM that load a format (release notes), and that compute it in bf16, by Marlin's kernels.
_FIRST_BY_VLLM = {"awq": "0.2", "gptq": "0.2.6", "fp8": "0.4.1", "bitsandbytes4": "0.5"}
_BF16_BY_MARLIN_FROM = {"awq": "0.5.4", "gptq": "0.4.2"}
# First versions of vLLM that split bitsandbytes over GPUs: weights quantized at load, and files quantized already.
_SPLITS_BITSANDBYTES_FROM, _SPLITS_PACKED_BITSANDBYTES_FROM = "0.6.2", "0.9"
# First versions for models that bitsandbytes supports later than others (vllm#8941, #8338, #11687).
_BITSANDBYTES_OF = {
    "Qwen2ForCausalLM": "0.6.4",
    "Gemma2ForCausalLM": "0.6.2",
    "Qwen2VLForConditionalGeneration": "0.7",
}
# First versions that read the format from the files: TGI (text-generation-inference#1719), vLLM (vllm#1695).
_TGI_READS_FORMAT_FROM, _VLLM_READS_FORMAT_FROM = "2.0", "0.2.2"
_TRTLLM_READS_FILES_FROM = "0.28"  # 0.27 surely does not
_COMPRESSED_TENSORS = "compressed-tensors"  # of llm-compressor
_TGI_READS_COMPRESSED_TENSORS_FROM = "3"
# Values of `quantize` in TGI's launcher; in 0.6.0 it was a switch.
_TGI_FORMATS = ("awq", "bitsandbytes", "bitsandbytes-fp4", "bitsandbytes-nf4", "eetq", "exl2", "fp8", "gptq", "marlin")
_TGI_NAMES_FORMATS_FROM = "0.8"
_NOT_OF_AUTO_MODEL = {"awq", "gptq", "bitsandbytes4"}  # for models that TGI leaves to transformers
# Least compute capability of the kernels: vLLM docs, features/quantization, "supported hardware"; TGI docs,
# conceptual/quantization. FP8 weights run on older GPUs too, through Marlin.
_LEAST_CAPABILITY = {"awq": TURING, "fp8": AMPERE, "mxfp4": AMPERE, "nvfp4": AMPERE}
# Least compute capability before these versions of vLLM; None = in all later ones. FP8 weights by Marlin (vllm#6689, on
# Turing vllm#29901), MXFP4 by Triton (vllm#22331), NVFP4 by Marlin (vllm#18312).
_LEAST_BY_VLLM: dict[str, tuple[tuple[str | None, float], ...]] = {
    "fp8": (("0.5", HOPPER), ("0.5.3", ADA), ("0.13", AMPERE), (None, TURING)),
    "mxfp4": (("0.10.2", HOPPER),),
    "nvfp4": (("0.9", BLACKWELL),),
    "int8": ((None, TURING),),
}
_COMPRESSED_TENSORS_ON_TURING_FROM = "0.14"  # vllm#29732, #29901, #31008
_EXPERTS_IN_FP8_BY_MARLIN_FROM = "0.9"
_UNPACKS_FP8_FROM = "5"  # transformers, quantizer_finegrained_fp8.py
_V1_ALONE_FROM = "0.10"  # vLLM's attention then needs FP8 cores for an FP8 cache (vllm#26431)


@error
def quantization_fits_engine(resolution: Resolution) -> Iterator[Finding]:
    """A version of vLLM loads certain formats, splits some of them, and computes some in fp16 only."""
    container = resolution.container
    quantization, vllm = container.quantization or "", container.vllm
    if not container.runs_own_branch and is_before(vllm, _FIRST_BY_VLLM.get(quantization, "0")):
        problem = f"{container.label} holds vLLM {vllm}, which does not know {quantization} yet"
        yield Finding("serving.version", problem, "use a newer version")
    elif quantization == "bitsandbytes4" and not container.runs_own_branch:
        yield from _bitsandbytes(resolution)
    if container.stored_quantization == "fp8" and container.kv_cache_type == "fp8_e5m2" and container.runs_vllm:
        field = f"serving.environment.{container.kv_cache_variable}"
        yield Finding(field, "fp8_e5m2 is refused with weights in FP8", "use fp8_e4m3, or fp8")
    named = (container.explicit_value("quantization") or "").lower() == quantization
    by_plain_kernels = named or is_before(vllm, _BF16_BY_MARLIN_FROM.get(quantization, "0"))
    if container.dtype == "bf16" and container.runs_vllm and quantization in _PACKED_BEFORE and by_plain_kernels:
        problem = f"bf16 is refused with {quantization.upper()}, whose kernels compute in fp16"
        yield Finding("model.dtype", problem, "use fp16, or leave it out")


def _bitsandbytes(resolution: Resolution) -> Iterator[Finding]:
    container = resolution.container
    packed = container.stored_quantization is not None
    splits_from = _SPLITS_PACKED_BITSANDBYTES_FROM if packed else _SPLITS_BITSANDBYTES_FROM
    degree = max((placement.degree for placement in resolution.placements), default=1)
    architecture = container.shape.architecture if container.shape else ""
    if degree > 1 and is_before(container.vllm, splits_from):
        already = " already" if packed else ""
        problem = (
            f"{degree} is refused: vLLM {container.vllm} of this image does not split weights quantized{already} by "
            "bitsandbytes"
        )
        yield Finding("serving.tensor_parallel_degree", problem, "use 1, or a newer version")
    elif is_before(container.vllm, _BITSANDBYTES_OF.get(architecture, "0")):
        problem = f"bitsandbytes does not support {architecture} in vLLM {container.vllm} of this image"
        yield Finding("model.quantization", problem, "use a newer version, or AWQ weights")


@error
def quantization_fits_tgi(resolution: Resolution) -> Iterator[Finding]:
    """A version of TGI knows certain formats, and some of them only for models that it has its own code for."""
    container = resolution.container
    if container.engine != "tgi" or container.version is None:
        return
    label, known, quantization = container.label, container.version.quantizations, container.quantization
    word = container.explicit_value("quantization") or ""
    is_switch = word in ("true", "false") and is_before(label, _TGI_NAMES_FORMATS_FROM)
    if word and word not in (*_TGI_FORMATS, "compressed-tensors") and not is_switch:
        problem = f"{word!r} is not a format of TGI, which ends at once"
        field = "serving.environment.HF_MODEL_QUANTIZE"
        yield Finding(field, problem, f"remove it, or use one of {', '.join(_TGI_FORMATS)}")
    elif quantization not in (None, "gguf", *known):
        problem = f"{quantization} is not known to TGI {label}"
        yield Finding("model.quantization", problem, f"use a newer version, or one of {', '.join(known)}")
    elif quantization in _NOT_OF_AUTO_MODEL and container.is_left_to_transformers:
        problem = (
            f"{quantization} is refused: TGI {label} leaves {container.model_id} to transformers, without such kernels"
        )
        yield Finding("model.quantization", problem, "use other weights, or another engine")
    elif _is_compressed(container) and is_before(label, _TGI_READS_COMPRESSED_TENSORS_FROM):
        problem = f"{container.model_id!r} holds compressed tensors, which TGI {label} can't read"
        yield Finding("model.id", problem, "use 3.0.1 or newer, or vllm")


@error
def quantization_fits_files(resolution: Resolution) -> Iterator[Finding]:
    """An engine that is asked for one format ends at once if the files have another."""
    container = resolution.container
    asked, stored = container.asked_quantization, container.stored_quantization
    is_old_trtllm = container.engine == "lmi-tensorrt-llm" and is_before(container.label, _TRTLLM_READS_FILES_FROM)
    if is_old_trtllm and stored in _PACKED_BEFORE:
        problem = f"{container.model_id!r} holds {stored} weights, of which TensorRT-LLM builds no engine"
        fix = "use the model that they were made from, with model.quantization: awq"
        yield Finding("model.id", problem, fix)
    if not container.comes_from_hub or not (container.vllm or container.engine in ("tgi", "sglang")):
        return
    converts = container.engine == "tgi" and (asked, stored) == ("gptq", "awq")  # for the faster kernels
    if asked and stored in _PACKED_BEFORE and asked != stored and not converts:
        problem = f"{asked} contradicts the files of {container.model_id}, which are quantized by {stored}"
        yield Finding("model.quantization", problem, f"use {stored}")
    elif asked in (*_PACKED_BEFORE, "mxfp4") and stored is None and container.shape and container.knows_commit:
        problem = f"{asked} needs weights that are quantized already, but those of {container.model_id} are not"
        yield Finding("model.quantization", problem, "use a repository with such weights, or remove the setting")


@error
def quantization_is_set(resolution: Resolution) -> Iterator[Finding]:
    """Older TGI and vLLM take quantized weights for plain ones unless the format is set."""
    container = resolution.container
    if container.engine == "tgi":
        engine, is_old = f"TGI {container.label}", is_before(container.label, _TGI_READS_FORMAT_FROM)
    else:
        engine, is_old = f"vLLM {container.vllm}", is_before(container.vllm, _VLLM_READS_FORMAT_FROM)
    stored = container.stored_quantization
    if is_old and stored in _PACKED_BEFORE and not container.asked_quantization and container.comes_from_hub:
        problem = f"is missing, and {engine} does not read the format from the files of {container.model_id}"
        yield Finding("model.quantization", problem, f"set it to {stored}")


@error
def quantization_fits_accelerator(resolution: Resolution) -> Iterator[Finding]:
    """The kernels of a quantized format need a GPU of a certain generation."""
    container = resolution.container
    least = _least_capability(container)
    for instance in (placement.instance for placement in resolution.placements):
        capability = instance.compute_capability
        if capability and least and capability < least:
            yield Finding(
                "model.quantization",
                f"{container.quantization} needs compute capability {least} or more here; the {instance.accelerator} "
                f"of {instance.type} has {capability}",
                f"use a newer type{SUCH_AS}, a newer image, or other weights",
            )


@warning
def kv_cache_fits_accelerator(resolution: Resolution) -> Iterator[Finding]:
    """A KV cache in FP8 needs FP8 cores, which came with Ada and Hopper."""
    container = resolution.container
    is_v1 = container.vllm is not None and not is_before(container.vllm, _V1_ALONE_FROM)
    if container.kv_cache_type not in ("fp8", "fp8_e4m3") or not is_v1:
        return
    for instance in (placement.instance for placement in resolution.placements):
        if instance.compute_capability and instance.compute_capability < ADA:
            yield Finding(
                f"serving.environment.{container.kv_cache_variable}",
                f"{container.kv_cache_type} for the KV cache needs compute capability 8.9 with vLLM {container.vllm}; "
                f"the {instance.accelerator} of {instance.type} has {instance.compute_capability}",
                "leave it out, or use a newer type",
            )


@error
def blocks_fit_degree(resolution: Resolution) -> Iterator[Finding]:
    """The degree must not split weights within a block that shares a scale, nor within a tile of Marlin's."""
    container = resolution.container
    shape = container.shape
    for placement in resolution.placements:
        instance = placement.instance
        if shape is None or blocks_divide(container, instance, placement.degree):
            continue
        parts = parts_of_rows(container, placement.degree)
        replicas = "" if parts == placement.degree else f", times {parts // placement.degree} replicas,"
        fewer = "use a lower degree" if placement.degree > 1 else "use fewer replicas"
        splits = f"{placement.degree}{replicas} splits the {shape.intermediate_size:,} rows of {container.model_id}"
        if shape.quantization_block:
            spread = ", or expert parallelism" if container.is_mixture else ""
            yield Finding(
                "serving.tensor_parallel_degree",
                f"{splits} within blocks of {shape.quantization_block}, which share a scale in "
                f"{container.stored_quantization}",
                f"{fewer}{spread}, or weights that are not quantized",
            )
        else:
            yield Finding(
                "serving.tensor_parallel_degree",
                f"{splits} into parts that do not fit the tiles of Marlin, which computes FP8 on the "
                f"{instance.accelerator} of {instance.type}",
                f"{fewer}, or a type with cores for FP8{SUCH_AS}",
            )


def _least_capability(container: Container) -> float | None:
    quantization, vllm = container.quantization or "", container.vllm
    if quantization == "fp8" and _needs_fp8_cores(container):
        return ADA
    if quantization == "nvfp4" and container.engine == "lmi-tensorrt-llm":
        return BLACKWELL
    eras = _LEAST_BY_VLLM.get(quantization, ()) if vllm else ()
    early = (least for before, least in eras if before is None or is_before(vllm, before))
    least = next(early, _LEAST_CAPABILITY.get(quantization))
    if quantization == "gptq" and _is_compressed(container) and is_before(vllm, _COMPRESSED_TENSORS_ON_TURING_FROM):
        return max(AMPERE, least or AMPERE)
    return least


def _is_compressed(container: Container) -> bool:
    return container.shape is not None and container.shape.quant_method == _COMPRESSED_TENSORS


def _needs_fp8_cores(container: Container) -> bool:
    """Whether only a GPU with FP8 cores computes the weights.

    vLLM before 0.9 needs such cores for mixtures of experts, transformers before 5 for all but compressed tensors.
    """
    if container.engine == "lmi-tensorrt-llm":
        return True
    if container.server == "huggingface":
        transformers = container.version.transformers if container.version else None
        return not container.may_have_own_code and is_before(transformers, _UNPACKS_FP8_FROM)
    return container.is_mixture and is_before(container.vllm, _EXPERTS_IN_FP8_BY_MARLIN_FROM)

"""Rules over image, host image and instance type: processor, accelerator, driver, number formats."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.instances import AMPERE, MAXWELL, TURING, VOLTA, Instance
from ..container_settings import heads_divide, image_version
from ..deployment import Deployment
from ..resolution import container_cuda, resolved_inference_ami
from .finding import error, note, unknown, warning
from .plan import Plan, container, plans

_REPLICAS = ("SM_VLLM_DATA_PARALLEL_SIZE", "SM_SGLANG_DP_SIZE", "OPTION_DATA_PARALLEL_SIZE")
_WORDS = {"gpu": "NVIDIA GPUs", "neuron": "AWS Neuron", "cpu": "CPUs"}
_LEAST_BY_CUDA = {12: MAXWELL, 13: TURING}
_CUDA_OF_AMI = {"gpu-2": 12, "gpu-2-1": 12, "gpu-3-1": 12, "gpu-4-1": 13}
_ONE_KIND = "types of one kind, since one image serves the whole pool"
_INSTEAD = {
    "gpu": "a GPU type such as ml.g5.xlarge or ml.g6.2xlarge",
    "neuron": "a Neuron type such as ml.inf2.8xlarge",
    "cpu": "a CPU type such as ml.c7i.2xlarge",
}
_BF16_FALLS_BACK_FROM = (0, 8, 5)  # vLLM then takes fp16 where the accelerator has no bf16
_CAPS_WITHOUT_FROM = (0, 8)
_V1_ON_TURING_FROM = (0, 9)
# TGI splits these by flash attention only, of which the first version needs Turing.
_SPLIT_BY_FLASH_ATTENTION = {"LlamaForCausalLM", "FalconForCausalLM", "RWForCausalLM", "GPTBigCodeForCausalLM"}
_NEWEST_FOR_DRIVER_535 = 12.8  # kernels that come as PTX of a newer CUDA can't be compiled there
_NEEDS_FLASH_ATTENTION_2 = {
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
    "Starcoder2ForCausalLM",
    "GemmaForCausalLM",
    "Gemma2ForCausalLM",
    "Phi3ForCausalLM",
}


@error
def image_fits_platform(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An image is built for NVIDIA GPUs, for Neuron or for CPUs, and for one processor architecture."""
    pool = list(plans(deployment))
    is_mixed = len({(plan.instance.kind, plan.instance.arch) for plan in pool}) > 1
    for plan in pool:
        instance, platform = plan.instance, _platform(plan)
        if platform in ("gpu", "neuron") and instance.kind != platform:
            has = {"cpu": "no accelerator", "gpu": f"{instance.accelerator} GPUs", "neuron": str(instance.accelerator)}
            lacks = "has no NVIDIA GPU" if platform == "gpu" else "is not a Neuron type"
            yield (
                "hosting.instance_type",
                f"{instance.type!r} {lacks} ({has[instance.kind]}), but the image of {plan.engine} is built for "
                f"{_WORDS[platform]}; use {_ONE_KIND if is_mixed else _way_out(platform, instance)}.",
            )
        elif platform == "neuron" and (instance.family == "ml.inf1") != _is_for_inferentia_1(plan):
            drives, other = ("neuron", "ml.inf1") if _is_for_inferentia_1(plan) else ("neuronx", "ml.inf2 or ml.trn1")
            yield (
                "hosting.instance_type",
                f"{instance.type!r} is of another generation than what the {drives} image drives; use {other}.",
            )
        arch = plan.version.arch if plan.version else None
        if arch and instance.arch and arch != instance.arch:
            yield (
                "hosting.instance_type",
                f"{instance.type!r} has {instance.arch} processors, the image is built for {arch}; use "
                f"{_ONE_KIND if is_mixed else 'another type, or a version of the image for this processor'}.",
            )


@warning
def accelerator_is_used(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What the engine does not use is paid for all the same."""
    for plan in plans(deployment):
        instance = plan.instance
        if _platform(plan) == "cpu" and instance.kind != "cpu":
            yield (
                "hosting.instance_type",
                f"{instance.type!r} has {instance.accelerator}, which this image is not built to use; "
                f"use {_INSTEAD['cpu']}.",
            )
        elif plan.server in ("vllm", "sglang", "tgi") and plan.shards < plan.devices and not plan.number(*_REPLICAS):
            divides = plan.shape is None or instance.kind != "gpu" or heads_divide(plan.shape, plan.devices)
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} uses {plan.degree} of the {plan.devices} accelerators of {instance.type}: "
                f"{plan.engine} starts one copy; use {f'{plan.devices} or ' if divides else ''}a smaller type.",
            )


@error
def host_image_fits_platform(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A host image brings the drivers of one kind of accelerator."""
    given = deployment.hosting.inference_ami_version
    for plan in plans(deployment):
        made_for = "neuron" if given and "neuron" in given else "gpu"
        if given and plan.instance.kind != made_for:
            yield (
                "hosting.inference_ami_version",
                f"{given!r} is made for {_WORDS[made_for]}, which {plan.instance.type} has not; remove the setting.",
            )


@warning
def driver_fits_image(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Evidence on mixed CUDA versions is mixed: some pairs stay in Creating without a log line, some run."""
    version, cuda = deployment.hosting.inference_ami_version, container_cuda(deployment)
    name = version.partition("inference-")[2] if version else ""
    host, image = _CUDA_OF_AMI.get(name), image_version(deployment)
    is_old = name.startswith("gpu-2") and image is not None and (image.cuda or 0) >= _NEWEST_FOR_DRIVER_535
    if host and cuda and cuda >= 12 and (host != cuda or is_old):
        exact = image.cuda if image and image.cuda else cuda
        yield (
            "hosting.inference_ami_version",
            f"{version!r} has a driver for another CUDA than the image's {exact}: some such pairs die without a log "
            "line (aws/deep-learning-containers#6187); remove the setting to have it derived.",
        )


@note
def host_image_is_derived(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The default driver of some types is older than the image's CUDA: such endpoints die without a log line."""
    version = resolved_inference_ami(deployment)
    if version and deployment.hosting.inference_ami_version is None:
        yield (
            "hosting.inference_ami_version",
            f"is not set, so {version} is derived: the image holds CUDA {container_cuda(deployment)}, for "
            f"which the default driver of {', '.join(deployment.hosting.instance_types)} may be too old.",
        )


@unknown
def ami_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A container whose CUDA is newer than the host's driver dies without a log line."""
    cuda = container_cuda(deployment)
    for plan in plans(deployment):
        if plan.instance.kind != "gpu" or _platform(plan) not in ("gpu", None) or resolved_inference_ami(deployment):
            continue
        if cuda == 13:
            yield (
                "hosting.inference_ami_version",
                f"is not known for a CUDA 13 image on {plan.instance.type}; find out which host image brings driver "
                "580 or newer there and set it.",
            )
        if cuda is None and deployment.serving.image_uri:
            yield (
                "hosting.inference_ami_version",
                "can't be derived, because serving.image_uri names no CUDA version (cu128, say); set it.",
            )


@error
def accelerator_is_new_enough(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """CUDA 12 dropped the K80's architecture, CUDA 13 the V100's (release notes); vLLM needs a V100 or newer."""
    cuda = container_cuda(deployment)
    for plan in plans(deployment):
        capability = plan.instance.compute_capability
        if plan.runs_vllm and capability and capability < VOLTA:
            yield (
                "hosting.instance_type",
                f"{plan.instance.type!r} has {plan.instance.accelerator} GPUs (compute capability {capability}), and "
                "vLLM needs 7.0 (vllm#1284); use a newer type.",
            )
        elif cuda and capability and capability < _LEAST_BY_CUDA.get(cuda, 0):
            yield (
                "hosting.instance_type",
                f"{plan.instance.type!r} has {plan.instance.accelerator} GPUs, which the CUDA {cuda} of this image no "
                "longer drives; use a newer type, or a serving.version with an older CUDA where there is one.",
            )


@error
def dtype_fits_accelerator(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Bfloat16 needs Ampere or newer: vLLM ends with a ValueError, TensorRT-LLM too; torch emulates it elsewhere."""
    for plan in plans(deployment):
        capability, vllm = plan.instance.compute_capability, plan.vllm
        needs_it = plan.runs_vllm or plan.engine in ("sglang", "lmi-tensorrt-llm")
        if capability is None or capability >= AMPERE or not needs_it:
            continue
        implied = plan.dtype is None and plan.shape is not None and plan.shape.dtype == "bf16"
        too_old = vllm is not None and numbers(vllm) < _BF16_FALLS_BACK_FROM
        if plan.dtype == "bf16" or (implied and too_old):
            yield (
                "model.dtype",
                f"bf16 is refused on the {plan.instance.accelerator} of {plan.instance.type} (compute capability "
                f"{capability}, 8.0 is needed); use fp16, or a type with newer GPUs such as ml.g5 or ml.g6.",
            )


@error
def dtype_fits_model(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Activations of Gemma 3 exceed what fp16 holds: vLLM refuses it."""
    plan = container(deployment)
    name = plan.kin.architecture if plan.kin else ""
    if plan.runs_vllm and plan.dtype == "fp16" and name.startswith("Gemma3"):
        yield "model.dtype", f"fp16 is refused with {name}; use bf16, or leave it out."


@error
def attention_fits_accelerator(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Windows and soft caps need flash attention 2, which needs Ampere (TGI's models/__init__.py, vllm#9922)."""
    for plan in plans(deployment):
        capability, shape = plan.instance.compute_capability, plan.shape
        if capability and capability < AMPERE and shape and shape.architecture in _needing_flash_attention(plan):
            yield (
                "hosting.instance_type",
                f"{plan.instance.type!r} has {plan.instance.accelerator} GPUs (compute capability {capability}); "
                f"{plan.engine} {plan.version.label if plan.version else ''} runs {shape.architecture} by flash "
                "attention 2 only, which needs 8.0: use a newer type such as ml.g5 or ml.g6.",
            )


@error
def first_v1_needs_ampere(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM's V1 engine, where it can still be asked for, has no attention for older GPUs (vllm#13398)."""
    for plan in plans(deployment):
        capability = plan.instance.compute_capability
        asked = plan.environment.get("VLLM_USE_V1") == "1" and plan.vllm and numbers(plan.vllm) < _V1_ON_TURING_FROM
        if asked and capability and capability < AMPERE:
            yield (
                "serving.environment.VLLM_USE_V1",
                f"1 needs compute capability 8.0 with vLLM {plan.vllm}; the {plan.instance.accelerator} of "
                f"{plan.instance.type} has {capability}: remove it, or use a newer type.",
            )


def _needing_flash_attention(plan: Plan) -> set[str]:
    if plan.engine == "tgi" and plan.version and numbers(plan.version.label) < (3,):
        is_old = plan.degree > 1 and (plan.instance.compute_capability or TURING) < TURING
        return _NEEDS_FLASH_ATTENTION_2 | (_SPLIT_BY_FLASH_ATTENTION if is_old else set())
    if plan.vllm and numbers(plan.vllm) < _CAPS_WITHOUT_FROM:
        return {"Gemma2ForCausalLM"}
    return set()


def _platform(plan: Plan) -> str | None:
    """What the image is built for; by its name where the catalog does not know it."""
    if plan.version:
        return plan.version.platform
    uri = plan.deployment.serving.image_uri or ""
    if "neuron" in uri:
        return "neuron"
    if re.search(r"cu\d{3}|-gpu-|-cuda", uri):
        return "gpu"
    return "cpu" if re.search(r"[:-]cpu-|-cpu\b", uri) else None


def _is_for_inferentia_1(plan: Plan) -> bool:
    """Whether the image is one of the first Neuron SDK; those of its successor are called neuronx."""
    return plan.version is None and "-neuron-" in (plan.deployment.serving.image_uri or "")


def _way_out(platform: str, instance: Instance) -> str:
    engines = {"cpu": " (huggingface, llama-cpp)", "neuron": " (vllm)", "gpu": ""}[instance.kind]
    return f"{_INSTEAD[platform]}, or an engine whose image is made for {_WORDS[instance.kind]}{engines}"

"""Rules over image and instance type: processor, accelerator, number formats."""

import re
from collections.abc import Iterator

from ...catalog.instances import AMPERE, BLACKWELL, HOPPER, MAXWELL, TURING, VOLTA, InstanceType, instances
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Placement, Resolution, moved
from ...resolution.parallelism import STARTS_ONE_COPY, parallel_devices, possible_degrees, replicas_set
from .rule import error, note, warning
from .suitable_type import SUCH_AS, is_accepted

_DATA_PARALLEL_SIZE = {"vllm": "SM_VLLM_DATA_PARALLEL_SIZE", "sglang": "SM_SGLANG_DP_SIZE"}
_PLATFORMS = {"gpu": "NVIDIA GPUs", "neuron": "AWS Neuron", "cpu": "CPUs"}
_LEAST_BY_CUDA = {12: MAXWELL, 13: TURING}
_FIRST_CUDA = {BLACKWELL: 12.8, HOPPER: 11.8}  # pytorch#153944; CUDA's release notes
_LEAST_BY_ENGINE = {"vllm": VOLTA, "sglang": TURING, "tei": TURING}  # vllm#1284; the others' documentation
_TGI_RUNS_ON_CPU_BEFORE = "3"  # its launcher falls back to CPUs
_ONE_KIND = "types of one kind, since one image serves the whole pool"
_INSTEAD = {
    "gpu": "a GPU type",
    "neuron": "a Neuron type",
    "cpu": "a CPU type",
}
_BF16_FALLS_BACK_FROM = "0.8.5"  # from here on vLLM takes fp16 on accelerators without bf16
_CAPS_WITHOUT_FLASH_ATTENTION_FROM = "0.8"
# TGI splits these models only with flash attention, whose first version needs Turing.
_SPLIT_BY_FLASH_ATTENTION = {"LlamaForCausalLM", "FalconForCausalLM", "RWForCausalLM", "GPTBigCodeForCausalLM"}
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
def image_fits_platform(resolution: Resolution) -> Iterator[Finding]:
    """An image is built for NVIDIA GPUs, for Neuron or for CPUs, and for one processor architecture."""
    container, field = resolution.container, "hosting.instance_type"
    platform = _platform(container)
    is_mixed = len({(each.instance.kind, each.instance.arch) for each in resolution.placements}) > 1
    for instance in (placement.instance for placement in resolution.placements):
        falls_back = instance.kind == "cpu" and _runs_on_cpu_too(container)
        if platform in ("gpu", "neuron") and instance.kind != platform and not falls_back:
            has = {"cpu": "no accelerator", "gpu": f"{instance.accelerator} GPUs", "neuron": str(instance.accelerator)}
            lacks = "has no NVIDIA GPU" if platform == "gpu" else "is not a Neuron type"
            yield Finding(
                field,
                f"{instance.type!r} {lacks} ({has[instance.kind]}), but the image of {container.engine} is built for "
                f"{_PLATFORMS[platform]}",
                f"use {_ONE_KIND if is_mixed else _way_out(platform, instance)}",
            )
        elif platform == "neuron" and (instance.family == "ml.inf1") != _is_for_inferentia_1(container):
            drives = "neuron" if _is_for_inferentia_1(container) else "neuronx"
            problem = f"{instance.type!r} is of another generation than the {drives} image"
            yield Finding(field, problem, f"use another Neuron type{SUCH_AS}")
        arch = container.version.arch if container.version else None
        if arch and instance.arch and arch != instance.arch:
            another = f"another type{SUCH_AS}, or a version of the image for this processor"
            yield Finding(
                field,
                f"{instance.type!r} has {instance.arch} processors, but the image is built for {arch}",
                f"use {_ONE_KIND if is_mixed else another}",
            )


@warning
def accelerator_is_used(resolution: Resolution) -> Iterator[Finding]:
    """An accelerator that the engine leaves idle costs as much as a busy one."""
    container = resolution.container
    for placement in resolution.placements:
        instance = placement.instance
        if instance.kind == "cpu" and _platform(container) == "gpu" and _runs_on_cpu_too(container):
            problem = f"{instance.type!r} has no accelerator, so {container.engine} computes on its CPUs, slowly"
            yield Finding("hosting.instance_type", problem, f"use {_INSTEAD['gpu']}")
        elif _platform(container) == "cpu" and instance.kind != "cpu" and container.server != "transformers":
            yield Finding(
                "hosting.instance_type",
                f"{instance.type!r} has {instance.accelerator}, which this image is not built to use",
                f"use {_INSTEAD['cpu']}",
            )
    if not _names_degree(container):
        yield from _idle_accelerators(resolution)


@note
def degree_uses_accelerators(resolution: Resolution) -> Iterator[Finding]:
    """A degree that the file names may leave accelerators idle, which cost as much as busy ones."""
    if _names_degree(resolution.container):
        yield from _idle_accelerators(resolution)


def _names_degree(container: Container) -> bool:
    return bool(
        container.explicit_value("tensor_parallel_degree") or container.deployment.serving.tensor_parallel_degree
    )


def _idle_accelerators(resolution: Resolution) -> Iterator[Finding]:
    container = resolution.container
    if container.server not in STARTS_ONE_COPY or replicas_set(container) > 1:
        return
    for placement in resolution.placements:
        instance = placement.instance
        if (smaller := _smaller_type(placement)) is None:
            continue
        # If a rule refuses the deployment, its finding decides on the type.
        fits = is_accepted(resolution) and is_accepted(moved(resolution, smaller.type))
        ways = [smaller.type] if fits else []
        takes_degree = container.version is None or "tensor_parallel_degree" in container.version.variables
        if takes_degree and placement.degree < max(possible_degrees(container, instance), default=1):
            ways += ["a higher serving.tensor_parallel_degree"]
        elif container.runs_vllm and container.is_mixture:
            ways += ["expert parallelism"]
        elif container.server in _DATA_PARALLEL_SIZE:
            replicas = placement.devices // placement.shards
            ways += [f"{_DATA_PARALLEL_SIZE[container.server]}: '{replicas}' in serving.environment"]
        yield Finding(
            "hosting.instance_type",
            f"{placement.shards} of the {placement.devices} accelerators of {instance.type} are used, because "
            f"{container.engine} starts one copy of degree {placement.degree}",
            f"use {', or '.join(ways)}" if ways else "",
        )


@error
def accelerator_is_new_enough(resolution: Resolution) -> Iterator[Finding]:
    """CUDA 12 dropped the K80 and CUDA 13 the V100 (release notes); vLLM needs a V100 at least, SGLang a T4."""
    cuda, engine = int(resolution.cuda or 0), "vllm" if resolution.container.runs_vllm else resolution.container.engine
    least = _LEAST_BY_ENGINE.get(engine, 0)
    for instance in (placement.instance for placement in resolution.placements):
        capability = instance.compute_capability
        gpus = f"{instance.type!r} has {instance.accelerator} GPUs"
        if capability and capability < least:
            yield Finding(
                "hosting.instance_type",
                f"{gpus} (compute capability {capability}), but {engine} needs {least} or more",
                f"use a newer type{SUCH_AS}",
            )
        elif capability and capability < _LEAST_BY_CUDA.get(cuda, 0):
            yield Finding(
                "hosting.instance_type",
                f"{gpus}, which CUDA {cuda} of this image no longer supports",
                f"use a newer type{SUCH_AS}, or a serving.version with an older CUDA",
            )


@error
def image_is_new_enough(resolution: Resolution) -> Iterator[Finding]:
    """PyTorch has no code for GPUs newer than its CUDA ("no kernel image is available"); llama.cpp generates it."""
    container, cuda = resolution.container, resolution.cuda
    if container.version is None or cuda is None or container.server == "llama-cpp":
        return
    for instance in (placement.instance for placement in resolution.placements):
        capability = instance.compute_capability or 0
        first = next((version for least, version in _FIRST_CUDA.items() if capability >= least), 0)
        if cuda < first:
            yield Finding(
                "hosting.instance_type",
                f"{instance.type!r} has {instance.accelerator} GPUs (compute capability {capability}), for which "
                f"CUDA {cuda:g} of this image has no code; CUDA {first:g} is the first that has",
                f"use an older type{SUCH_AS}, or a serving.version with a newer CUDA",
            )


@error
def dtype_fits_accelerator(resolution: Resolution) -> Iterator[Finding]:
    """On GPUs older than Ampere, vLLM, SGLang and TensorRT-LLM refuse bfloat16; on others torch emulates it.

    vLLM refuses fp16 for Gemma 3, whose activations exceed its range (vLLM's config).
    """
    container = resolution.container
    family = container.shape.architecture if container.shape else ""
    if container.runs_vllm and container.dtype == "fp16" and family.startswith("Gemma3"):
        yield Finding("model.dtype", f"fp16 is refused with {family}", "use bf16, or leave it out")
    needs_it = container.runs_vllm or container.engine in ("sglang", "lmi-tensorrt-llm")
    is_implied = container.dtype is None and container.shape is not None and container.shape.dtype == "bf16"
    if not needs_it or not (
        container.dtype == "bf16" or (is_implied and is_before(container.vllm, _BF16_FALLS_BACK_FROM))
    ):
        return
    for instance in (placement.instance for placement in resolution.placements):
        if instance.compute_capability and instance.compute_capability < AMPERE:
            yield Finding(
                "model.dtype",
                f"bf16 is refused on the {instance.accelerator} of {instance.type} (compute capability "
                f"{instance.compute_capability}, 8.0 is needed)",
                f"use fp16, or a type with newer GPUs{SUCH_AS}",
            )


@error
def attention_fits_accelerator(resolution: Resolution) -> Iterator[Finding]:
    """Models with sliding windows or soft caps need flash attention 2, which needs an Ampere GPU or newer.

    Sources: TGI's models/__init__.py, vllm#9922.
    """
    container = resolution.container
    name = container.shape.architecture if container.shape else ""
    for placement in resolution.placements:
        instance = placement.instance
        capability = instance.compute_capability
        if capability and capability < AMPERE and name in _needing_flash_attention(placement):
            yield Finding(
                "hosting.instance_type",
                f"{instance.type!r} has {instance.accelerator} GPUs (compute capability {capability}); "
                f"{container.engine} {container.label} runs {name} with flash attention 2 only, which needs 8.0",
                f"use a newer type{SUCH_AS}",
            )


def _needing_flash_attention(placement: Placement) -> set[str]:
    container = placement.container
    if container.engine == "tgi" and is_before(container.label, "3"):
        is_old = placement.degree > 1 and (placement.instance.compute_capability or TURING) < TURING
        return _NEEDS_FLASH_ATTENTION_2 | (_SPLIT_BY_FLASH_ATTENTION if is_old else set())
    return {"Gemma2ForCausalLM"} if is_before(container.vllm, _CAPS_WITHOUT_FLASH_ATTENTION_FROM) else set()


def _platform(container: Container) -> str | None:
    """Return the platform that the image is built for; if the catalog does not know the image, by its name."""
    if container.version:
        return container.version.platform
    uri = container.deployment.serving.image_uri or ""
    if "neuron" in uri:
        return "neuron"
    if re.search(r"cu\d{3}|-gpu-|-cuda", uri):
        return "gpu"
    return "cpu" if re.search(r"[:-]cpu-|-cpu\b", uri) else None


def _runs_on_cpu_too(container: Container) -> bool:
    return container.engine == "tgi" and is_before(container.label, _TGI_RUNS_ON_CPU_BEFORE)


def _is_for_inferentia_1(container: Container) -> bool:
    """Whether the image is one of the first Neuron SDK; images of its successor are called neuronx."""
    return container.version is None and "-neuron-" in (container.deployment.serving.image_uri or "")


def _smaller_type(placement: Placement) -> InstanceType | None:
    """Return the smallest type of the family with enough devices for the copy, but fewer than here; None = none."""
    here = placement.instance
    family = (each for each in instances().values() if each.family == here.family)
    fitting = [each for each in family if placement.shards <= parallel_devices(each) < placement.devices]
    return min(fitting, key=lambda each: (parallel_devices(each), each.vcpu), default=None)


def _way_out(platform: str, instance: InstanceType) -> str:
    engines = {"cpu": " (huggingface, llama-cpp)", "neuron": " (vllm)", "gpu": ""}[instance.kind]
    return f"{_INSTEAD[platform]}{SUCH_AS}, or an engine whose image is made for {_PLATFORMS[instance.kind]}{engines}"

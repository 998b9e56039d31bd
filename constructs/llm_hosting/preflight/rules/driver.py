"""Rules over the host image: its accelerator, and its NVIDIA driver against GPU, CUDA and kernels."""

from collections.abc import Iterator
from typing import NamedTuple

from ...catalog.instances import BLACKWELL, HOPPER, InstanceType
from ...catalog.regions import all_container_accounts
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Placement, Resolution
from .rule import error, warning

_FIELD = "hosting.inference_ami_version"
_NEWEST = "al2023-ami-sagemaker-inference-gpu-4-1"
_PLATFORMS = {"gpu": "NVIDIA GPUs", "neuron": "AWS Neuron"}
# SageMaker's API reference, InferenceAmiVersion.
_DRIVERS = {
    "al2-ami-sagemaker-inference-gpu-2": 535,
    "al2-ami-sagemaker-inference-gpu-2-1": 535,
    "al2-ami-sagemaker-inference-gpu-3-1": 550,
    _NEWEST: 580,
}
_CUDA_OF_DRIVERS = {470: 11.4, 535: 12.2, 550: 12.4, 580: 13.0}  # CUDA's release notes, table of drivers
_FIRST_DRIVER_OF_BLACKWELL = 570  # NVIDIA's release notes of data centre drivers
_OLDEST_DRIVER_FOR_CUDA_13 = 535  # even with CUDA's compatibility library
_MARLIN_AS_PTX_FROM = "0.12"  # vLLM's CMakeLists.txt: MARLIN_ARCHS without Hopper
_BY_MARLIN = {"awq", "nvfp4"}  # on Hopper
_TRTLLM_ASKS_DRIVER_FROM, _CUDA_IT_ASKS = "0.33", 12.3  # cuKernelGetName came with CUDA 12.3


class _Driver(NamedTuple):
    """The driver of a host.

    name: the host image; empty = SageMaker's default for the type.
    """

    name: str
    branch: int

    @property
    def cuda(self) -> float:
        """The newest CUDA that the driver runs by itself."""
        return _CUDA_OF_DRIVERS[self.branch]

    def __str__(self) -> str:
        return f"{self.name or 'the default host image'} has driver {self.branch} (CUDA {self.cuda:g})"


@error
def host_image_fits_platform(resolution: Resolution) -> Iterator[Finding]:
    """A host image holds the drivers of one kind of accelerator."""
    given = resolution.deployment.hosting.inference_ami_version
    made_for = "neuron" if given and "neuron" in given else "gpu"
    for instance in (placement.instance for placement in resolution.placements):
        if given and instance.kind != made_for:
            problem = f"{given!r} is made for {_PLATFORMS[made_for]}, but {instance.type} has none"
            yield Finding(_FIELD, problem, "remove the setting")


@error
def driver_runs_image(resolution: Resolution) -> Iterator[Finding]:
    """A driver knows only the GPUs of its time, and CUDA's compatibility library needs a driver of a certain age.

    Blackwell GPUs need driver 570 (NVIDIA's release notes). A CUDA 13 container on driver 470 ends without a log line.
    """
    for placement, driver in _drivers(resolution):
        instance = placement.instance
        if driver.branch < _least_for_gpu(instance):
            problem = f"{driver}, which does not know the {instance.accelerator} of {instance.type}"
        elif driver.branch < least_driver(instance, resolution.cuda):
            problem = f"{driver}, too old for CUDA {resolution.cuda:g} of the image"
        else:
            continue
        yield Finding(_FIELD, problem, f"use {_NEWEST}")


@warning
def driver_is_recent(resolution: Resolution) -> Iterator[Finding]:
    """A driver older than the image's CUDA needs CUDA's compatibility library, and some kernels fail even with it.

    AWS's images bring that library. vLLM's Marlin kernels reach Hopper as PTX, which an older driver can't compile
    (djl-serving#2987). TensorRT-LLM calls functions that an older driver lacks (deep-learning-containers#5253).
    """
    container, cuda = resolution.container, resolution.cuda or 0
    uri = resolution.deployment.serving.image_uri
    brings_library = uri is None or uri.partition(".")[0] in all_container_accounts()
    for placement, driver in _drivers(resolution):
        capability = placement.instance.compute_capability or 0
        is_ptx = container.quantization in _BY_MARLIN and HOPPER <= capability < BLACKWELL
        has_ptx = container.vllm is not None and not is_before(container.vllm, _MARLIN_AS_PTX_FROM)
        release = container.label if container.engine == "lmi-tensorrt-llm" else None
        is_new_trtllm = release is not None and not is_before(release, _TRTLLM_ASKS_DRIVER_FROM)
        if int(driver.cuda) < int(cuda) and not brings_library:
            problem = (
                f"{driver}, so CUDA {cuda:g} runs only if your image puts CUDA's compatibility library on its path"
            )
        elif is_ptx and has_ptx and driver.cuda < cuda:
            problem = f"{driver}, which can't compile the {container.quantization} kernels of CUDA {cuda:g}"
        elif is_new_trtllm and driver.cuda < _CUDA_IT_ASKS:
            problem = f"{driver}, which lacks functions that TensorRT-LLM {release} calls"
        else:
            continue
        yield Finding(_FIELD, problem, f"use {_NEWEST}")


def least_driver(instance: InstanceType, cuda: float | None) -> int:
    """Return the oldest driver that knows the GPU and runs the CUDA, with its compatibility library; 0 = any."""
    return max(_least_for_gpu(instance), _OLDEST_DRIVER_FOR_CUDA_13 if (cuda or 0) >= 13 else 0)


def _least_for_gpu(instance: InstanceType) -> int:
    return _FIRST_DRIVER_OF_BLACKWELL if (instance.compute_capability or 0) >= BLACKWELL else 0


def _drivers(resolution: Resolution) -> Iterator[tuple[Placement, _Driver]]:
    """Yield the driver of each GPU type, if it is known: of the host image that is named or derived, or by default."""
    name = resolution.inference_ami_version or ""
    for placement in resolution.placements:
        default = placement.instance.default_driver
        branch = _DRIVERS.get(name) if name else int(default) if default else None
        if placement.instance.kind == "gpu" and branch in _CUDA_OF_DRIVERS:
            yield placement, _Driver(name, branch)

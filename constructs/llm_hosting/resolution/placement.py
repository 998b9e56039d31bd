"""A container on one instance type: degree, copies, memory."""

import math
from dataclasses import dataclass
from functools import cached_property

from ..catalog.instances import Instance
from .container import COUNT, Container
from .memory import GB, Memory, estimate, weights_in_files
from .parallelism import default_degree, parallel_devices

_PIPELINE = (
    "OPTION_PIPELINE_PARALLEL_DEGREE",
    "PIPELINE_PARALLEL_DEGREE",
    "SM_VLLM_PIPELINE_PARALLEL_SIZE",
    "SM_SGLANG_PP_SIZE",
)
# Amazon Linux takes 2 GB and torch for CPU with its packages 2; as much again for logs and updates, and room to spare.
_ROOM_FOR_SYSTEM_IN_GB = 16
_UNKNOWN_WEIGHTS = 16 * GB


@dataclass(frozen=True)
class Placement:
    """One instance type of a deployment."""

    container: Container
    instance: Instance

    @property
    def devices(self) -> int:
        """Accelerators of the instance; on Neuron, their cores; 0 on CPU types."""
        return parallel_devices(self.instance)

    @cached_property
    def degree(self) -> int:
        """Devices that share one layer of the model; an own image is taken to use all that it may."""
        container = self.container
        given = container.explicit_value("tensor_parallel_degree")
        if given:
            return max(1, int(given) if COUNT.fullmatch(given) else self.devices)
        version = container.version
        is_published = version is not None and version.tag is not None
        if version and is_published and "tensor_parallel_degree" not in version.variables:
            return 1
        asked = container.deployment.serving.tensor_parallel_degree
        return asked or default_degree(self.instance, container.shape, version)

    @cached_property
    def stages(self) -> int:
        """Stages of pipeline parallelism, each on devices of its own; llama.cpp spreads layers over all, unasked."""
        spread = self.devices if self.container.server == "llama-cpp" and self.instance.kind == "gpu" else 1
        return max(1, int(self.container.number(*_PIPELINE) or spread))

    @property
    def shards(self) -> int:
        """Devices that one copy of the model lies on."""
        return self.degree * self.stages

    @property
    def copies(self) -> int:
        """Copies of the model on one instance."""
        return max(1, self.devices // self.shards) if self.devices else 1

    @property
    def disk_in_gb(self) -> int | None:
        """The type's own disk, or the volume: on a machine of EC2 with room for its system and the weights.

        None = SageMaker's default.
        """
        hosting = self.container.deployment.hosting
        if not hosting.runs_on_machines:
            return self.instance.local_nvme_in_gb or hosting.volume_size_in_gb
        weights = weights_in_files(self.container) or _UNKNOWN_WEIGHTS
        return hosting.volume_size_in_gb or _ROOM_FOR_SYSTEM_IN_GB + math.ceil(weights / GB)

    @cached_property
    def memory(self) -> Memory:
        """The estimate for one copy of the model, per device."""
        return estimate(self.container, self.instance, degree=self.degree, stages=self.stages)

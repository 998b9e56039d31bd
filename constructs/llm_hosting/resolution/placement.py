"""Places a container on one instance type: degree, copies, memory."""

import math
from dataclasses import dataclass
from functools import cached_property

from ..catalog.instances import InstanceType
from .container import COUNT, Container
from .memory import GB, Memory, estimate, weights_in_files
from .parallelism import STARTS_ONE_COPY, default_degree, parallel_devices, replicas_set, stages_set

# Amazon Linux takes 2 GB, torch for CPUs and its packages 2 GB; the rest is for logs and updates, with room to spare.
_ROOM_FOR_SYSTEM_IN_GB = 16
_UNKNOWN_WEIGHTS = 16 * GB


@dataclass(frozen=True)
class Placement:
    """The container on one instance type of the deployment."""

    container: Container
    instance: InstanceType

    @property
    def devices(self) -> int:
        """Accelerators of the instance; on Neuron, their cores; 0 on CPU types."""
        return parallel_devices(self.instance)

    @cached_property
    def degree(self) -> int:
        """Number of devices that share one layer of the model; an own image is assumed to use all that it may."""
        container = self.container
        given = container.explicit_value("tensor_parallel_degree")
        if given:
            return max(1, int(given) if COUNT.fullmatch(given) else self.devices)
        version = container.version
        is_published = version is not None and version.tag is not None
        if version and is_published and "tensor_parallel_degree" not in version.variables:
            return 1
        asked = container.deployment.serving.tensor_parallel_degree
        return asked or default_degree(container, self.instance)

    @cached_property
    def stages(self) -> int:
        """Number of pipeline stages, each on its own devices; llama.cpp by default spreads layers over all devices."""
        if self.container.server == "llama-cpp" and self.instance.kind == "gpu":
            return self.devices
        return stages_set(self.container)

    @property
    def shards(self) -> int:
        """Number of devices that hold one copy of the model."""
        return self.degree * self.stages

    @property
    def copies(self) -> int:
        """Number of copies of the model on one instance."""
        if self.container.server in STARTS_ONE_COPY:
            return replicas_set(self.container)
        return max(1, self.devices // self.shards) if self.devices else 1

    @property
    def disk_in_gb(self) -> int | None:
        """The type's own disk, or the volume; on a machine with room for its system and the weights.

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

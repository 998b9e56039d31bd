"""What one copy of an inference component takes of its instance, and how many copies an instance holds."""

import math
from dataclasses import dataclass

from .parallelism import replicas_set
from .placement import Placement

# A reservation, not a limit. A published run on ml.g5.xlarge (16 GiB): 4,096 are refused, and with 1,024 vLLM uses what
# it needs. So the accelerators alone decide where a copy fits.
_RESERVED_MEMORY_IN_MB = 1024


@dataclass(frozen=True)
class ComponentCopy:
    """What SageMaker reserves on an instance for a copy of the model.

    accelerators: whole GPUs or Neuron devices; 0 on CPU types. cpu_cores: None = any number.
    memory_in_mb: of the instance's own memory, not of the accelerators'.
    per_instance: number of copies that an instance holds; 0 = a copy needs more accelerators than it has.
    """

    accelerators: int
    cpu_cores: int | None
    memory_in_mb: int
    per_instance: int


def component_copy(placement: Placement) -> ComponentCopy:
    """Return what a copy takes on the instance type of a placement."""
    instance, memory = placement.instance, _RESERVED_MEMORY_IN_MB
    if not placement.devices:
        # More than half of the cores, because a CPU engine uses all that it finds: never two copies on one instance.
        return ComponentCopy(0, instance.vcpu // 2 + 1, memory, 1)
    devices_of_accelerator = max(1, placement.devices // instance.accelerator_count)
    accelerators = math.ceil(placement.shards * replicas_set(placement.container) / devices_of_accelerator)
    return ComponentCopy(accelerators, None, memory, instance.accelerator_count // accelerators)

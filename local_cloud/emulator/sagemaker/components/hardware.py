"""The hardware of an instance type, and the part of it that a copy of a component takes."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError

# SageMaker keeps memory of each instance for itself, and does not say how much.
_MEMORY_OF_THE_HOST_IN_MB = 1024


class Hardware(NamedTuple):
    """Accelerators, cores and memory."""

    accelerators: float
    cores: float
    memory_in_mb: float

    def holds(self, part: "Hardware") -> bool:
        return all(mine >= wanted for mine, wanted in zip(self, part, strict=True))

    def less(self, part: "Hardware") -> "Hardware":
        return Hardware(*(mine - taken for mine, taken in zip(self, part, strict=True)))

    def __str__(self) -> str:
        return f"{self.accelerators:g} accelerators, {self.cores:g} CPU cores and {self.memory_in_mb:g} MB of memory"


def hardware_of(instance_type: str) -> Hardware:
    """What copies may take of an instance of this type; raises InvalidRequestError for a type not in the catalog."""
    row = _types().get(instance_type)
    if row is None:
        raise InvalidRequestError(f"The local cloud does not know the hardware of the instance type {instance_type}.")
    memory = row["memory_in_gib"] * 1024 - _MEMORY_OF_THE_HOST_IN_MB
    return Hardware(row.get("accelerator_count", 0), row["vcpu"], memory)


def required_hardware(requirements: dict[str, Any]) -> Hardware:
    """What a copy takes, from its ComputeResourceRequirements."""
    return Hardware(
        float(requirements.get("NumberOfAcceleratorDevicesRequired", 0)),
        float(requirements.get("NumberOfCpuCoresRequired", 0)),
        float(requirements["MinMemoryRequiredInMb"]),
    )


@cache
def _types() -> dict[str, Any]:
    types: dict[str, Any] = json.loads(Path(os.environ["SLIPWAY_LOCAL_INSTANCES"]).read_text())
    return types

"""SageMaker instance types for endpoints."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Instance:
    """Memory in MiB per accelerator as EC2 reports it, disk in GB; None = not known.

    `usd_per_hour` comes from third-party snapshots: an indication, never a bill.
    """

    type: str
    kind: Literal["cpu", "gpu", "neuron"]
    accelerator: str | None = None
    accelerator_count: int = 0
    accelerator_memory_in_mib: int | None = None
    local_nvme_in_gb: int | None = None
    volume_size_allowed: bool | None = None
    default_driver: str | None = None
    usd_per_hour: float | None = None

    @property
    def family(self) -> str:
        """For example `ml.g5`."""
        return self.type.rpartition(".")[0]


@cache
def instances() -> dict[str, Instance]:
    """All known types by name."""
    rows = json.loads(Path(__file__).with_name("instances.json").read_text())["instances"]
    return {name: Instance(type=name, **row) for name, row in rows.items()}

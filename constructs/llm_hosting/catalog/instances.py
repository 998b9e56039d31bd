"""Instance types: SageMaker's types for endpoints, and EC2's own names for the same hardware."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..project import kept_for_project
from . import layers
from .row_types import problems

FILE = "instances.json"
KINDS = ("cpu", "gpu", "neuron")
# The compute capability with which each generation begins.
BLACKWELL, HOPPER, ADA, AMPERE, TURING, VOLTA, MAXWELL = 10.0, 9.0, 8.9, 8.0, 7.5, 7.0, 5.0
# SageMaker's price over EC2's, by the types whose two prices are known: 1.2 to 1.33 for those of Neuron.
_SAGEMAKER_OVER_EC2 = {"gpu": 1.25, "neuron": 1.25, "cpu": 1.2}
_OF_SMALL_GPU_TYPES, _LEAST_VCPU = 1.4, 4


@dataclass(frozen=True)
class InstanceType:
    """One instance type; None = not known.

    Memory in MiB and bandwidth in GB/s are per accelerator; disk is in GB, host memory in GiB.
    accelerator_memory_in_mib: as EC2 reports it, which is less than the advertised size.
    neuron_cores: of all accelerators together; None on types without Neuron devices.
    compute_capability: NVIDIA's number for the generation: 7.5 for a T4, 8.6 for an A10G, 9.0 for an H100.
    volume_size_allowed: False if the type has its own disk, which SageMaker uses instead of a volume.
    usd_per_hour: from third-party snapshots: an indication, never a bill.
    ec2_usd_per_hour: price of the same hardware without SageMaker, which is lower; for types of endpoints only.
    """

    type: str
    kind: Literal["cpu", "gpu", "neuron"]
    arch: Literal["x86_64", "arm64"]
    vcpu: int
    memory_in_gib: float
    accelerator: str | None = None
    accelerator_count: int = 0
    accelerator_memory_in_mib: int | None = None
    neuron_cores: int | None = None
    compute_capability: float | None = None
    memory_bandwidth_in_gb_per_s: float | None = None
    local_nvme_in_gb: int | None = None
    volume_size_allowed: bool | None = None
    default_driver: str | None = None
    usd_per_hour: float | None = None
    ec2_usd_per_hour: float | None = None

    @property
    def likely_usd_per_hour(self) -> float | None:
        """The price by which types are compared; an unknown price of SageMaker is estimated from EC2's."""
        if self.usd_per_hour or not self.ec2_usd_per_hour:
            return self.usd_per_hour
        is_small = self.kind == "gpu" and self.vcpu == _LEAST_VCPU
        return self.ec2_usd_per_hour * (_OF_SMALL_GPU_TYPES if is_small else _SAGEMAKER_OVER_EC2[self.kind])

    @property
    def family(self) -> str:
        """The family of the type, for example `ml.g5`."""
        return self.type.rpartition(".")[0]

    @property
    def computes_bf16(self) -> bool:
        """Whether the CPU has instructions for bfloat16; False on types with accelerators."""
        return self.family.removeprefix("ml.") in _data()["families_with_bf16"]

    def price(self, least: int = 1, most: int = 1) -> str:
        """Return the price of so many instances, for example "about 1.52 to 4.55 USD an hour"; empty = not known."""
        rate = self.usd_per_hour or self.ec2_usd_per_hour
        if not rate:
            return ""
        amount = f"{least * rate:.2f}" if least == most else f"{least * rate:.2f} to {most * rate:.2f}"
        return f"about {amount} USD an hour" if self.usd_per_hour else f"more than EC2's {amount} USD an hour"

    @property
    def with_price(self) -> str:
        """The name and, if it is known, the price of one instance for an hour."""
        price = self.price()
        return f"{self.type} ({price})" if price else self.type


@kept_for_project
def instances() -> dict[str, InstanceType]:
    """Return all known types of endpoints by name."""
    return {name: InstanceType(**{**row, "type": name}) for name, row in _data()["instances"].items()}


def prices_as_of() -> str:
    """Return the date of SageMaker's prices."""
    return str(_data()["prices_as_of"])


def ec2_prices_as_of() -> str:
    """Return the date of EC2's prices."""
    return str(_data()["ec2_prices_as_of"])


@dataclass(frozen=True)
class MachinePrices:
    """Prices beside a machine's hours, in us-east-1; a stopped machine pays for its disk, not for its address."""

    volume_usd_per_gb_and_month: float
    address_usd_per_hour: float


@kept_for_project
def machine_prices() -> MachinePrices:
    """Return the prices of a machine's gp3 volume and public address."""
    return MachinePrices(**_data()["machines"])


@kept_for_project
def ec2_instances() -> dict[str, InstanceType]:
    """Return EC2's own types by name, such as `c5.xlarge`, at EC2's price: those of the endpoint types, and others.

    Their disk is the EBS volume, because an instance store loses its content with each stop.
    """
    of_endpoints = {name.removeprefix("ml."): _at_ec2(each) for name, each in instances().items()}
    return of_endpoints | {
        name: InstanceType(**{"volume_size_allowed": True, **row, "type": name})
        for name, row in _data()["of_ec2_alone"].items()
    }


def _at_ec2(instance: InstanceType) -> InstanceType:
    return replace(
        instance,
        type=instance.type.removeprefix("ml."),
        usd_per_hour=instance.ec2_usd_per_hour,
        ec2_usd_per_hour=None,
        local_nvme_in_gb=None,
        volume_size_allowed=True,
    )


def types_for(*, on_machines: bool) -> dict[str, InstanceType]:
    """Return the types for EC2 machines, or those for SageMaker endpoints, by name."""
    return ec2_instances() if on_machines else instances()


@kept_for_project
def _data() -> dict[str, Any]:
    data = layers.read(FILE)
    for name, problem in _misplaced(data["instances"], data["of_ec2_alone"]):
        raise layers.refuse(FILE, name, "", problem)
    for section in ("instances", "of_ec2_alone"):
        rows = {name: {**row, "type": name} for name, row in data[section].items()}
        layers.demand_types(FILE, rows, InstanceType)
    for column, problem in problems(data["machines"], MachinePrices):
        raise layers.refuse(FILE, "machines", column, problem)
    return data


def _misplaced(of_endpoints: Collection[str], of_ec2_alone: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each row that is in the wrong section, and the place of its columns."""
    for name in of_endpoints:
        if not name.startswith("ml."):
            price = f"its price on EC2 is ec2_usd_per_hour of ml.{name}"
            yield name, f"is EC2's name: {price}, and a type that endpoints lack belongs to of_ec2_alone"
    for name in of_ec2_alone:
        if name.startswith("ml."):
            yield name, "is a name of endpoints, which belongs to instances"
        elif f"ml.{name}" in of_endpoints:
            yield name, f"is a type of endpoints, too: its price on EC2 is ec2_usd_per_hour of ml.{name} in instances"

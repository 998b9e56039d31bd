"""Places copies of several models on the instances of one endpoint."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..catalog.instances import InstanceType, instances
from ..deployment.model import Deployment
from ..deployment.settings.shared_endpoint import SharedEndpoint
from .resolution import resolve

_MIB_PER_GIB = 1024
_MOST_INSTANCES = 1000  # that an endpoint file takes


class Room(NamedTuple):
    """What an instance has, or what a copy of a model takes of it."""

    accelerators: int
    cpu_cores: int
    memory_in_mb: int

    def holds(self, need: "Room") -> bool:
        """Whether a copy finds its place here."""
        return all(has >= takes for has, takes in zip(self, need, strict=True))

    def without(self, need: "Room") -> "Room":
        """Return what is left beside a copy."""
        return Room(*(has - takes for has, takes in zip(self, need, strict=True)))

    @property
    def words(self) -> str:
        """The figures that count: accelerators, or cores where there are none, and memory."""
        many = f"{self.accelerators} accelerator" if self.accelerators else f"{self.cpu_cores} core"
        plural = "" if many.startswith("1 ") else "s"
        return f"{many}{plural} and {self.memory_in_mb / _MIB_PER_GIB:,.0f} GiB of memory"

    def share(self, need: "Room") -> float:
        """Return the largest share that a copy takes."""
        return max(takes / has if has else float(takes > 0) for has, takes in zip(self, need, strict=True))


@dataclass(frozen=True)
class Tenant:
    """One model on a shared endpoint. need: what a copy takes. least, most: its number of copies."""

    need: Room
    least: int
    most: int

    @property
    def copies(self) -> str:
        """The number of copies, in words."""
        if self.least == self.most:
            return f"{self.most} cop{'y' if self.most == 1 else 'ies'}"
        return f"{self.least} to {self.most} copies"


@dataclass(frozen=True)
class Packing:
    """The models of a shared endpoint by the names of their stacks, and its instances."""

    room: Room
    instances: int
    tenants: Mapping[str, Tenant]

    def at_first(self) -> list[Counter[str]] | None:
        """Place the least number of copies, the largest first: the copies on each instance; None = no place is left.

        A model that sleeps counts with one copy, which it has after its deploy and after each wake.
        """
        copies = Counter({name: tenant.least for name, tenant in self.tenants.items()})
        return self._placed(copies, largest_first=True)

    def at_most(self) -> list[Counter[str]] | None:
        """Place the largest number of copies, the smallest first and each on the emptiest instance.

        Copies come and go in any order, and this one leaves the least room for a large copy.
        """
        copies = Counter({name: tenant.most for name, tenant in self.tenants.items()})
        return self._placed(copies, largest_first=False)

    def words(self, endpoint: SharedEndpoint) -> str:
        """The instances and the copies on them, in words."""
        copies = (f"{name} {tenant.copies} of {tenant.need.words}" for name, tenant in self.tenants.items())
        return f"{self.instances} x {endpoint.instance_type} with {self.room.words} each: {', '.join(copies)}"

    @property
    def larger_than_an_instance(self) -> dict[str, Room]:
        """What a copy takes, by name, of each model whose copy fits on no instance."""
        return {name: tenant.need for name, tenant in self.tenants.items() if not self.room.holds(tenant.need)}

    @property
    def instances_needed(self) -> int | None:
        """The least number of instances for `at_first`; None = a copy is larger than an instance."""
        if self.larger_than_an_instance:
            return None
        fitting = (count for count in range(1, _MOST_INSTANCES + 1) if replace(self, instances=count).at_first())
        return next(fitting, None)

    def _placed(self, copies: Counter[str], *, largest_first: bool) -> list[Counter[str]] | None:
        free = [self.room] * self.instances
        placed: list[Counter[str]] = [Counter() for _ in free]
        needs = {name: tenant.need for name, tenant in self.tenants.items()}
        for name in sorted(copies.elements(), key=lambda each: self.room.share(needs[each]), reverse=largest_first):
            fitting = [number for number, left in enumerate(free) if left.holds(needs[name])]
            if not fitting:
                return None
            chosen = fitting[0] if largest_first else max(fitting, key=lambda number: free[number])
            free[chosen] = free[chosen].without(needs[name])
            placed[chosen][name] += 1
        return placed


def packing_of(endpoint: SharedEndpoint, deployments: Mapping[str, Deployment]) -> Packing | None:
    """Return the packing of these deployments; None = the catalog does not know the endpoint's instance type.

    deployments: by the names of their stacks; one without a known need is left out.
    """
    instance = instances().get(endpoint.instance_type)
    if instance is None:
        return None
    found = {name: tenant_of(deployment) for name, deployment in deployments.items()}
    tenants = {name: tenant for name, tenant in found.items() if tenant}
    return Packing(room_of(instance), endpoint.instance_count.max, tenants)


def room_of(instance: InstanceType) -> Room:
    """Return what an instance has."""
    return Room(instance.accelerator_count, instance.vcpu, round(instance.memory_in_gib * _MIB_PER_GIB))


def tenant_of(deployment: Deployment) -> Tenant | None:
    """Return what a deployment puts on its shared endpoint; None = its instance type is not known."""
    resolution, copies = resolve(deployment), deployment.hosting.copies
    if not resolution.placements:
        return None
    copy = resolution.component_copy
    return Tenant(Room(copy.accelerators, copy.cpu_cores or 0, copy.memory_in_mb), copies.min, copies.max)

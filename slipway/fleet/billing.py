"""What the endpoints of a fleet cost, and the quotas that their accounts need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llm_hosting.catalog.instances import InstanceType, types_for
from llm_hosting.fleets.stack_sets import ENDPOINT_SWITCH
from llm_hosting.preflight.report import COPIES_DURING_UPDATE, VCPU_QUOTA, NeededQuota
from llm_hosting.resolution import Resolution

_VCPU_CODE = "L-1216C47A"


@dataclass(frozen=True)
class Bill:
    """An estimate in USD an hour, by the catalog's prices. None = no price is known."""

    least: float | None
    most: float | None

    @property
    def text(self) -> str:
        if self.least is None or self.most is None:
            return "?"
        return f"{self.least:.2f}" if self.least == self.most else f"{self.least:.2f}-{self.most:.2f}"


NOTHING = Bill(0.0, 0.0)


def runs_endpoint(values: Mapping[str, str]) -> bool:
    """Whether a stack with these parameter values runs its endpoint."""
    return values.get(ENDPOINT_SWITCH) == "true"


def bill(values: Mapping[str, str], resolution: Resolution) -> Bill:
    """The cost of one stack with its endpoint, by its parameter values."""
    least, most = _counts(values, resolution)
    instance = _instance(values, resolution)
    rate = instance.usd_per_hour or instance.ec2_usd_per_hour
    return Bill(round(least * rate, 2), round(most * rate, 2)) if rate else Bill(None, None)


def total(bills: Iterable[Bill]) -> Bill:
    """Return the sum; its amounts are None if one price is not known."""
    all_of_them = list(bills)
    least = [each.least for each in all_of_them if each.least is not None]
    most = [each.most for each in all_of_them if each.most is not None]
    if len(least) < len(all_of_them):
        return Bill(None, None)
    return Bill(round(sum(least), 2), round(sum(most), 2))


def quota(values: Mapping[str, str], resolution: Resolution) -> NeededQuota:
    """Return the quota that one account and region needs during an update, with new instances beside those that run.

    Its name is the one that `doctor` asks Service Quotas for.
    """
    _, most = _counts(values, resolution)
    instance = _instance(values, resolution)
    hosting = resolution.deployment.hosting
    if hosting.runs_on_machines:
        return NeededQuota(f"{VCPU_QUOTA} ({_VCPU_CODE})", most * COPIES_DURING_UPDATE * instance.vcpu)
    return NeededQuota(f"{instance.type} for endpoint usage", resolution.instances_during_update(most))


def _instance(values: Mapping[str, str], resolution: Resolution) -> InstanceType:
    hosting = resolution.deployment.hosting
    return types_for(on_machines=hosting.runs_on_machines)[values.get("InstanceType", hosting.instance_types[0])]


def _counts(values: Mapping[str, str], resolution: Resolution) -> tuple[int, int]:
    count = resolution.deployment.hosting.instance_count
    if fixed := values.get("InstanceCount"):
        return int(fixed), int(fixed)
    return int(values.get("MinInstances", str(count.min))), int(values.get("MaxInstances", str(count.max)))

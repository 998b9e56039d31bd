"""Judges an endpoint file with the deployments on the endpoint, before a deploy of the endpoint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..catalog.instances import instances
from ..catalog.regions import regions_without_components
from ..deployment.endpoint_file import read_endpoint
from ..deployment.file import DeploymentError
from ..deployment.finding import LEVELS, Finding
from ..deployment.model import Deployment
from ..deployment.nearest import nearest
from ..deployment.settings.shared_endpoint import FOLDER, Shared, SharedEndpoint
from ..deployment.tenants import in_region, tenants
from ..resolution.packing import Packing, packing_of
from .rules.governance import taken_names
from .rules.rule import Rules


@dataclass(frozen=True)
class Occupied:
    """A shared endpoint, and the deployments on it by the names of their stacks."""

    shared: Shared
    deployments: Mapping[str, Deployment]

    @property
    def endpoint(self) -> SharedEndpoint:
        return self.shared.endpoint

    @property
    def packing(self) -> Packing | None:
        """How the copies find room; None = the catalog does not know the instance type."""
        return packing_of(self.endpoint, self.deployments)


RULES = Rules[Occupied]()


def load_endpoint(path: Path, root: Path) -> tuple[Occupied, list[Finding]]:
    """Return the endpoint of a file with all deployments on it, and the findings, worst first.

    root: the folder with `deployments/`. Raises DeploymentError with all problems.
    """
    endpoint, problems = read_endpoint(path)
    name, findings = path.stem, problems
    if endpoint:
        occupied = Occupied(Shared(name, endpoint), tenants(name, root / "deployments"))
        # Without a region of its own the file makes an endpoint in each region that deployments name.
        regions: list[str | None] = [each.region for each in occupied.deployments.values() if each.region]
        here = [
            Occupied(occupied.shared, in_region(occupied.deployments, region))
            for region in dict.fromkeys(regions or [None])
        ]
        findings = list(dict.fromkeys(each for one in here for rule in RULES for each in rule.findings(one)))
    errors = [f"{each.field}: {each.message}" for each in findings if each.level == "error"]
    if endpoint is None or errors:
        raise DeploymentError(f"{FOLDER}/{path.name}", errors)
    return occupied, sorted(findings, key=lambda each: LEVELS.index(each.level))


@RULES.error
def endpoint_type_is_known(occupied: Occupied) -> Iterator[Finding]:
    """The endpoint's instance type is in the catalog of endpoint types."""
    name = occupied.endpoint.instance_type
    if name not in instances():
        fix = f"use {nearest(name, instances())}, or add it to catalog/instances.json"
        yield Finding("instance_type", f"{name!r} is not in the catalog of endpoint types", fix)


@RULES.error
def endpoint_counts_are_in_order(occupied: Occupied) -> Iterator[Finding]:
    """The largest number of instances is not below the least."""
    count = occupied.endpoint.instance_count
    if count.max < count.min:
        yield Finding("instance_count.max", f"{count.max} is less than min ({count.min})", f"use {count.min} or more")


@RULES.error
def endpoint_names_of_roles_and_tags_are_free(occupied: Occupied) -> Iterator[Finding]:
    """AWS keeps some paths of roles and names of tags, and Slipway some tags; IAM compares tags without their case."""
    yield from taken_names(occupied.endpoint.security)


@RULES.error
def endpoint_volume_is_allowed(occupied: Occupied) -> Iterator[Finding]:
    """SageMaker refuses volume size and volume key on types with a local NVMe disk."""
    endpoint, instance = occupied.endpoint, instances().get(occupied.endpoint.instance_type)
    for field in ("volume_size_in_gb", "volume_kms_key_arn"):
        value = getattr(endpoint, field)
        if instance and instance.volume_size_allowed is False and value is not None:
            problem = f"{value} is refused on {instance.type}, which has its own NVMe disk"
            yield Finding(field, problem, "remove the setting")


@RULES.error
def endpoint_region_has_components(occupied: Occupied) -> Iterator[Finding]:
    """CloudFormation makes inference components in some regions only."""
    region = occupied.endpoint.region
    if region in regions_without_components():
        problem = f"{region!r} has no inference components in CloudFormation, without which models share no endpoint"
        yield Finding("region", problem, "use another region")


@RULES.error
def endpoint_has_room(occupied: Occupied) -> Iterator[Finding]:
    """The least copies of all deployments on the endpoint, one of each that sleeps, fit on its instances at once."""
    packing = occupied.packing
    if packing and (large := packing.larger_than_an_instance):
        for name, need in large.items():
            problem = f"{occupied.endpoint.instance_type} has {packing.room.words}, and a copy of {name} takes"
            smaller = f"lower serving.tensor_parallel_degree of {name}, or " if need.accelerators > 1 else ""
            yield Finding("instance_type", f"{problem} {need.words}", f"{smaller}use a larger instance_type")
    elif packing and packing.at_first() is None:
        needed = packing.instances_needed
        fix = f"use {needed}, or move a model to another endpoint" if needed else "move a model to another endpoint"
        yield Finding("instance_count.max", f"has no room for all copies on {packing.words(occupied.endpoint)}", fix)


@RULES.warning
def endpoint_sleeps_with_its_models(occupied: Occupied) -> Iterator[Finding]:
    """Instances that always run cost the same when all models on them sleep."""
    count, deployments = occupied.endpoint.instance_count, occupied.deployments.values()
    if count.min and deployments and all(each.hosting.idle == "zero" for each in deployments):
        problem = f"{count.min} keeps instances although every model on the endpoint sleeps (hosting.idle: zero)"
        yield Finding("instance_count.min", problem, "use 0")


@RULES.warning
def endpoint_has_room_to_scale(occupied: Occupied) -> Iterator[Finding]:
    """Scaling finds no place for a copy if all models run their largest numbers of copies."""
    packing = occupied.packing
    if packing and packing.at_first() is not None and packing.at_most() is None:
        problem = f"may leave no room when all models scale out on {packing.words(occupied.endpoint)}"
        yield Finding("instance_count.max", problem, "raise it, or lower hosting.copies.max of a model")

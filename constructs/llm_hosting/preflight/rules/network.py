"""Rules over the network of containers, machines and functions: subnets, endpoints of services, isolation."""

from collections.abc import Callable, Iterator

from ...deployment.finding import Finding
from ...deployment.model import Deployment
from ...deployment.settings.vpc import Vpc
from ...resolution import Resolution
from ...resolution.aws_services import endpoints_in_words, interface_services
from .requirements import Requirement, broken
from .rule import error, note

_LEAST_SUBNETS = 2  # SageMaker's guide: two subnets in different zones, even for one instance
_STAGE = "run `slipway stage <name> --to s3://...`, and set model.weights to that prefix"


def _vpc(is_broken: Callable[[Vpc, Deployment], object]) -> Callable[[Deployment], bool]:
    """Return a test of a deployment from a test of its VPC; without one nothing is broken."""
    return lambda d: d.security.vpc is not None and bool(is_broken(d.security.vpc, d))


_NEEDED = (
    Requirement(
        "security.vpc.vpc_id",
        _vpc(lambda vpc, d: vpc.is_made and d.hosting.runs_on_machines),
        "is required with hosting.mode: ec2: machines install packages from indexes on the internet, which a VPC made "
        "for endpoints does not reach",
        "name a VPC with a way there, or remove security.vpc",
    ),
    Requirement(
        "security.vpc",
        _vpc(lambda vpc, d: d.hosting.endpoint),
        "is refused with hosting.endpoint: the containers run in the network of the shared endpoint",
        "remove it, or hosting.endpoint",
    ),
    *(
        Requirement(
            f"security.vpc.{name}",
            _vpc(lambda vpc, d, name=name: vpc.is_made and getattr(vpc, name)),  # type: ignore[misc]
            "belongs to a VPC of yours, and security.vpc.vpc_id is not set",
            "set vpc_id, or remove it",
        )
        for name in ("subnet_ids", "security_group_ids", "route_table_ids")
    ),
    Requirement(
        "security.vpc.service_endpoints",
        _vpc(lambda vpc, d: vpc.is_made and "service_endpoints" in vpc.model_fields_set and not vpc.service_endpoints),
        "false is refused without security.vpc.vpc_id: nothing leads out of a new VPC but endpoints",
        "remove it, or set vpc_id",
    ),
    *(
        Requirement(
            f"security.vpc.{name}",
            _vpc(lambda vpc, d, name=name: not vpc.makes_endpoints and getattr(vpc, name)),  # type: ignore[misc]
            "is for endpoints that the stack makes, and security.vpc.service_endpoints is false",
            "remove it, or set service_endpoints: true",
        )
        for name in ("route_table_ids", "other_services")
    ),
    Requirement(
        "security.vpc.route_table_ids",
        _vpc(lambda vpc, d: not vpc.is_made and vpc.service_endpoints and not vpc.route_table_ids),
        "is required with service_endpoints: true: the endpoints of S3 and DynamoDB are routes",
        "name the route tables of the subnets",
    ),
    Requirement(
        "security.vpc",
        _vpc(lambda vpc, d: vpc.makes_endpoints and interface_services(d) and str(d.region).startswith("cn-")),
        "needs interface endpoints, which have other names in {deployment.region} than the stack gives them",
        "make them yourself in a VPC of yours, name it, and use service_endpoints: false",
    ),
    Requirement(
        "hosting.network_isolation",
        lambda d: d.hosting.network_isolation and d.model.weights is None and d.serving.engine != "custom",
        "true cuts the container off from the Hugging Face Hub",
        "set model.weights to an S3 prefix, or use false",
    ),
    Requirement(
        "hosting.network_isolation",
        lambda d: d.hosting.network_isolation and d.serving.handler is not None,
        "true cuts serving.handler off from its packages and from S3",
        "use false, or an engine's own handler",
    ),
)


@error
def network_settings_agree(resolution: Resolution) -> Iterator[Finding]:
    """Settings of a network need each other, and isolation leaves a container without Hub, packages and S3."""
    yield from broken(_NEEDED, resolution.deployment)


@error
def subnets_are_enough(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker asks for two subnets in different zones, even for one instance; machines take one."""
    deployment = resolution.deployment
    vpc, least = deployment.security.vpc, 1 if deployment.hosting.runs_on_machines else _LEAST_SUBNETS
    if vpc and not vpc.is_made and len(set(vpc.subnet_ids)) < least:
        problem = f"names {len(set(vpc.subnet_ids))}, and hosting.mode: {deployment.hosting.mode} needs {least} or more"
        yield Finding("security.vpc.subnet_ids", problem, "name subnets of vpc_id in different zones")


@error
def start_needs_no_internet(resolution: Resolution) -> Iterator[Finding]:
    """In a VPC that the stack makes, and with network isolation, a container loads nothing from the internet."""
    deployment = resolution.deployment
    vpc = deployment.security.vpc
    cause = "hosting.network_isolation: true"
    if deployment.hosting.runs_on_machines:
        return
    if vpc and vpc.is_made:
        cause = "security.vpc without vpc_id, a VPC without a route to the internet"
        yield from _loads_model(deployment, cause)
    elif not deployment.hosting.network_isolation:
        return
    for name, source in deployment.model.adapters.items():
        if not source.startswith("s3://"):
            yield Finding(
                f"model.adapters.{name}",
                f"{source} is on the Hub, which the container does not reach with {cause}",
                "merge it into the weights, or use serving.engine: lmi-vllm with the adapter in S3",
            )
    if deployment.api.fetch_urls and not deployment.hosting.network_isolation:
        yield Finding("api.fetch_urls", f"is refused with {cause}: the container can't load images", "remove it")


def _loads_model(deployment: Deployment, cause: str) -> Iterator[Finding]:
    if deployment.serving.handler:
        problem = f"{deployment.serving.handler} installs its packages from an index, which is refused with {cause}"
        yield Finding("serving.handler", problem, "use an engine's own handler, or a VPC of yours that leads there")
    if deployment.model.weights is None and deployment.serving.engine != "custom":
        problem = f"is null, so the container loads the model from the Hub, which is refused with {cause}"
        yield Finding("model.weights", problem, f"{_STAGE}, or name a VPC of yours that leads to the Hub")


@note
def endpoints_are_billed(resolution: Resolution) -> Iterator[Finding]:
    """Interface endpoints bill by zone and hour, and their private DNS names hold for everything in the VPC."""
    words, vpc = endpoints_in_words(resolution.deployment), resolution.deployment.security.vpc
    if vpc and words:
        shared = "" if vpc.is_made else "; in vpc_id they take over the names of the services for all other workloads"
        yield Finding("security.vpc", f"makes {words}{shared}")

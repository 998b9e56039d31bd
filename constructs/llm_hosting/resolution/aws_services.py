"""AWS services that the parts of a deployment call through its VPC, each by the end of its endpoint's name."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from ..catalog.service_endpoints import service_endpoints
from ..deployment.model import Deployment

Part = Literal["containers", "machines", "functions"]
ZONES = 2  # of a VPC that the stack makes


class Need(NamedTuple):
    """A service that a part calls, and why."""

    part: Part
    service: str
    why: str
    is_needed: Callable[[Deployment], bool] = lambda _: True


# SageMaker itself pulls the image from ECR ("Platform", ImageConfig of CreateModel's reference), and writes logs and
# metrics: its guide "Give SageMaker AI Hosted Endpoints Access to Resources in Your Amazon VPC" asks for S3 alone.
NEEDS = (
    Need("containers", "s3", "weights, adapters, archives; input and output of asynchronous jobs"),
    Need("machines", "s3", "their code, weights, input and output of jobs, the signal that a machine is ready"),
    Need("machines", "dynamodb", "rows of jobs"),
    Need("machines", "sqs", "the queue of jobs"),
    Need("machines", "events", "announcements of ended jobs"),
    Need("machines", "logs", "their logs"),
    Need("machines", "ssm", "sessions of operators"),
    Need("machines", "ssmmessages", "sessions of operators"),
    Need("machines", "secretsmanager", "the Hub's token", lambda d: _loads_by_token(d)),
    Need("machines", "xray", "traces", lambda d: d.traces),
    Need("functions", "sagemaker.runtime", "calls of the model", lambda d: not d.hosting.runs_on_machines),
    Need("functions", "sagemaker.api", "status and wakes of the endpoint", lambda d: not d.hosting.runs_on_machines),
    Need("functions", "ec2", "starts and stops of machines", lambda d: d.hosting.runs_on_machines),
    Need(
        "functions", "dynamodb", "rows of jobs, use of keys and groups", lambda d: d.jobs.enabled or d.api.counts_usage
    ),
    Need("functions", "s3", "input and output of jobs, files", lambda d: d.jobs.enabled),
    Need("functions", "events", "announcements of ended jobs", lambda d: d.jobs.enabled),
    Need(
        "functions",
        "sqs",
        "the queue of jobs",
        lambda d: d.jobs.enabled and not d.hosting.queues_in_sagemaker,
    ),
    Need("functions", "xray", "traces", lambda d: d.traces),
)


def _loads_by_token(deployment: Deployment) -> bool:
    return deployment.model.hub_token_secret_arn is not None and deployment.model.weights is None


def needs(deployment: Deployment) -> Iterator[Need]:
    """Yield what the parts of a deployment call through `security.vpc`; nothing without one."""
    vpc = deployment.security.vpc
    if vpc is None:
        return
    model: Part = "machines" if deployment.hosting.runs_on_machines else "containers"
    parts = (model, "functions") if vpc.functions else (model,)
    yield from (each for each in NEEDS if each.part in parts and each.is_needed(deployment))
    yield from (Need(model, service, "security.vpc.other_services") for service in vpc.other_services)


def needed_services(deployment: Deployment) -> list[str]:
    """Return the services that the deployment calls through its VPC, in order of their names."""
    return sorted({each.service for each in needs(deployment)})


def interface_services(deployment: Deployment, *parts: Part) -> list[str]:
    """Return those services with an interface endpoint that these parts call. Without parts: that any part calls."""
    found = {each.service for each in needs(deployment) if not parts or each.part in parts}
    return sorted(found - set(service_endpoints().gateways))


def endpoints_in_words(deployment: Deployment) -> str:
    """Return the number and the price of the endpoints that the stack makes; empty = it makes none."""
    vpc = deployment.security.vpc
    if vpc is None or not vpc.makes_endpoints:
        return ""
    interfaces = interface_services(deployment)
    gateways = [each for each in needed_services(deployment) if each not in interfaces]
    zones = ZONES if vpc.is_made else len(vpc.subnet_ids)
    price = service_endpoints().usd_per_month(len(interfaces), zones)
    bill = f"about {price:.0f} USD a month, and by traffic" if interfaces else "free"
    made = f"{_counted(len(interfaces), 'interface endpoint')} in {_counted(zones, 'zone')} and " if interfaces else ""
    return f"{made}{_counted(len(gateways), 'gateway endpoint')}: {bill}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

"""Reads the deployments behind a gateway from a fleet: the stacks of one deployment in many accounts and regions."""

from collections.abc import Iterator
from pathlib import Path

from llm_hosting.api.routes import routes_of
from llm_hosting.deployment.paths import find
from llm_hosting.fleets.file import find_fleet, load_fleet
from slipway.fleet.deployed_set import DeployedSet, Place, call_as, deployed_set
from slipway.gateway.backend import Backend, GatewayError
from slipway.gateway.deployed import with_responses
from slipway.gateway.price import price_of
from slipway.shared.aws_clients import Clients


def backends_of_fleet(name: str, root: Path, clients: Clients) -> list[Backend]:
    """Return a backend for each stack of the fleet, without URLs: only the stacks' own accounts can tell these.

    Raises GatewayError, UnknownDeploymentError, DeploymentError, NoTemplateError.
    """
    path = find_fleet(name, root / "fleets")
    fleet, _, resolution = load_fleet(path, root)
    deployment, client = resolution.deployment, clients("cloudformation")
    methods = {(each.method, each.path) for each in routes_of(takes_jobs=True, openai=resolution.openai_routes)}
    given = dict.fromkeys(filter(None, [deployment.model.id, resolution.container.told_name]))
    price = price_of(find(fleet.deployment, root / "deployments"), resolution)
    sets = [deployed_set(each, client, call_as(fleet)) for each in (f"{path.stem}-canary", path.stem)]
    backends = [
        Backend(
            f"{account}/{region}",
            names=(*given, *sorted(deployment.model.adapters)),
            url=None,
            routes=with_responses(frozenset(resolution.openai_routes), methods),
            auth=deployment.api.auth,
            wakes=deployment.hosting.sleeps,
            by_jobs=not deployment.hosting.answers_at_once,
            price=price,
        )
        for found in filter(None, sets)
        for account, region in _places(found)
    ]
    if not backends:
        problem = "no stack with a model runs in any account; deploy it, and see `slipway fleet status"
        raise GatewayError(f"{path.stem}: {problem} {path.stem}`.")
    return backends


def _places(deployed: DeployedSet) -> Iterator[Place]:
    """Yield the accounts and regions with a stack that has a model."""
    parameter = deployed.template["Parameters"]["DeployEndpoint"]
    for place, instance in sorted(deployed.instances.items()):
        value = deployed.values(place).get("DeployEndpoint", parameter["Default"])
        if instance.get("StackId") and value != "false":
            yield place

"""Prints or writes the configuration of a gateway, and says which variables or secrets it needs."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.file_errors import why
from slipway.changes.template.reading import NoTemplateError
from slipway.gateway import envoy, litellm
from slipway.gateway.backend import Backend, GatewayError
from slipway.gateway.deployed import backend_of, has_openai_routes
from slipway.gateway.fleet import backends_of_fleet
from slipway.gateway.pools import pools
from slipway.gateway.price import price_of_stack
from slipway.measuring.figures.measured import MeasuredError
from slipway.shared.aws_clients import Clients, clients_in
from slipway.stack.deployed_stack import DeployedStack, asking_aws, deployed_stacks, find_stack

_ERRORS = (DeploymentError, GatewayError, MeasuredError, NoTemplateError, UnknownDeploymentError)


@dataclass(frozen=True)
class GatewayOptions:
    """What to write.

    names: of deployments; empty = all in the account and region. fleet: instead of names. weights: by name.
    fallbacks: names by the name of the deployment that fails. output: None = standard output.
    """

    names: Sequence[str]
    fleet: str | None
    program: Literal["litellm", "envoy"]
    weights: Mapping[str, int]
    fallbacks: Mapping[str, Sequence[str]]
    output: Path | None


def run(region: str | None, root: Path, options: GatewayOptions) -> int:
    """Write the configuration. Returns the exit status: 2 if none can be written."""

    def write() -> int:
        try:
            return _write(clients_in(region), root, options)
        except _ERRORS as error:
            print(error, file=sys.stderr)
        except OSError as error:
            print(f"{options.output} can't be written: {why(error)}; name another file.", file=sys.stderr)
        return 2

    return asking_aws(write)


def _write(clients: Clients, root: Path, options: GatewayOptions) -> int:
    backends = (
        backends_of_fleet(options.fleet, root, clients) if options.fleet else _deployed(clients, root, options.names)
    )
    found = pools(backends, options.weights, options.fallbacks, even=bool(options.fleet))
    if options.program == "envoy":
        documents = envoy.resources(found)
        text, needs = yaml.safe_dump_all(documents, sort_keys=False, width=120), list(_secrets(backends))
    else:
        text = yaml.safe_dump(litellm.configuration(found), sort_keys=False, width=120)
        needs = list(_variables(backends))
    prices = [f"{each.name}: {each.price.basis}" for each in backends if each.price]
    head = "".join(f"# {line}\n" for line in ["Written by `slipway gateway`; write it anew after a deploy.", *prices])
    if options.output:
        options.output.write_text(head + text, encoding="utf-8")
        print(f"wrote {options.output}", file=sys.stderr)
    else:
        sys.stdout.write(head + text)
    print(*needs, sep="\n", file=sys.stderr)
    return 0


def _deployed(clients: Clients, root: Path, names: Sequence[str]) -> list[Backend]:
    if names:
        return [_backend(find_stack(name, clients), root) for name in names]
    stacks = sorted(deployed_stacks(clients), key=lambda stack: stack.name)
    found = [_backend(stack, root) for stack in stacks if has_openai_routes(stack)]
    for each in found:
        if each.unreachable:
            print(f"{each.name} is left out: {each.unreachable}.", file=sys.stderr)
    reachable = [each for each in found if not each.unreachable]
    if not reachable:
        where = clients("cloudformation").meta.region_name
        raise GatewayError(
            f"No deployment in {where} answers OpenAI's clients with a key; deploy one with api.auth: api-key, or name "
            "another --region."
        )
    return reachable


def _backend(stack: DeployedStack, root: Path) -> Backend:
    return backend_of(stack, price_of_stack(stack.name, stack.label.model, root))


def _variables(backends: Sequence[Backend]) -> Iterator[str]:
    yield "The gateway needs these variables:"
    yield f"  {litellm.MASTER_KEY}: a key of your own, which begins with sk-; the gateway's callers send it"
    for each in backends:
        if each.url_variable:
            yield f"  {each.url_variable}: the output ApiUrl of the stack in {each.name}"
        if each.key_variable:
            yield f"  {each.key_variable}: a key of {each.name}{_shown_by(each)}"


def _secrets(backends: Sequence[Backend]) -> Iterator[str]:
    yield f"The routes belong to a Gateway {envoy.GATEWAY!r}, which you make. They need these secrets, with `apiKey`:"
    for each in backends:
        if each.key_variable:
            yield f"  {envoy.secret_name(each)}: a key of {each.name}{_shown_by(each)}"


def _shown_by(backend: Backend) -> str:
    return f", from: {backend.key_command}" if backend.key_command else ""

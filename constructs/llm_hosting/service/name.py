"""The name of a service, and what the stack's template says of it."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256

import aws_cdk as cdk
from constructs import Construct

from .. import DESCRIPTION_PREFIX
from ..deployment.file import NAME, NAME_LENGTH
from ..stack_label import METADATA_KEY, SERVICES, ServiceLabel, StackLabel

_HIDDEN = "Default"  # an id that adds nothing to logical ids
_HASH_LENGTH = 8


def service_name(service: Construct) -> str:
    """Return the stack's name; for a service with an id of its own, the stack's name and the ids below the stack.

    The token of the stack's name if nothing needs a change. Otherwise at most 50 lower-case letters, digits and
    hyphens: SageMaker lower-cases names in ARNs, IAM compares their case, and the endpoint's name adds 9 characters.
    """
    stack = cdk.Stack.of(service)
    # The name of a nested stack is known only after its creation.
    outer = stack.node.path if cdk.Token.is_unresolved(stack.stack_name) else stack.stack_name
    whole = "-".join([outer, *_ids(service, stack)])
    if whole == stack.stack_name and NAME.fullmatch(whole) and len(whole) <= NAME_LENGTH:
        # Unlike `cdk.Aws.STACK_NAME`, it is still this stack's name where another stack uses it.
        return str(cdk.ScopedAws(stack).stack_name)
    name = re.sub("[^a-z0-9]+", "-", whole.lower()).strip("-")
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(whole.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: NAME_LENGTH - _HASH_LENGTH - 1].rstrip('-')}-{digest}"


def unique_name(service: Construct, name: str) -> str:
    """Return the name and the first 8 characters of the GUID in the stack's id, `arn:…:stack/<name>/<GUID>`."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Stack.of(service).stack_id))
    return f"{name}-{cdk.Fn.select(0, cdk.Fn.split('-', guid))}"


def demand_free_name(service: Construct, name: str) -> None:
    """Raise ValueError if another service of the stack has the name."""
    metadata = cdk.Stack.of(service).template_options.metadata or {}
    if name in metadata.get(METADATA_KEY, {}).get(SERVICES, {}):
        raise ValueError(f"{service.node.path}: the stack has another service {name!r}; choose another id.")


def add_outputs(service: Construct, name: str, label: StackLabel, engine: str, outputs: Mapping[str, str]) -> None:
    """Add the outputs of a service, and the label by which the commands of `slipway` know it.

    A service with the name of its stack is known by the stack's description. Any other stack is the team's: each of its
    services is known by an output whose value is its name.
    """
    stack, described = cdk.Stack.of(service), f"{DESCRIPTION_PREFIX}{label.model} on {engine}"
    made = {key: cdk.CfnOutput(service, key, value=value) for key, value in outputs.items()}
    metadata = dict(stack.template_options.metadata or {})
    found = dict(metadata.get(METADATA_KEY, {}))
    if not cdk.Token.is_unresolved(name):
        cdk.CfnOutput(service, "ServiceName", value=name, description=described)
        prefix = re.sub("[^A-Za-z0-9]", "", "".join(_ids(service, stack)))
        own = ServiceLabel(label, prefix, {key: output.logical_id for key, output in made.items()})
        found[SERVICES] = found.get(SERVICES, {}) | {name: own.as_metadata()}
    else:
        stack.template_options.description = stack.template_options.description or described
        found |= asdict(label)
    stack.template_options.metadata = metadata | {METADATA_KEY: found}


def _ids(service: Construct, stack: cdk.Stack) -> list[str]:
    """Return the ids from the stack to the service that are a part of logical ids."""
    below = service.node.path.removeprefix(stack.node.path).strip("/")
    return [each for each in below.split("/") if each != _HIDDEN]

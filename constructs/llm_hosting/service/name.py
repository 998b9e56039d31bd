"""The name of a service, and what the stack's template says of it."""

import re
from dataclasses import asdict
from hashlib import sha256

import aws_cdk as cdk
from constructs import Construct

from .. import DESCRIPTION_PREFIX
from ..deployment.file import NAME, NAME_LENGTH
from ..stack_label import METADATA_KEY, StackLabel

_HIDDEN = "Default"  # an id that adds nothing to logical ids
_HASH_LENGTH = 8
_LONGEST_DESCRIPTION = 1024


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
        return str(cdk.Aws.STACK_NAME)
    name = re.sub("[^a-z0-9]+", "-", whole.lower()).strip("-")
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(whole.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: NAME_LENGTH - _HASH_LENGTH - 1].rstrip('-')}-{digest}"


def add_label(service: Construct, name: str, label: StackLabel, engine: str) -> None:
    """Write the label of a service into the Metadata of its stack's template. Raises ValueError for a name in use.

    The description names the model and the engine, unless the team gives another. The commands find a stack by it.
    """
    stack = cdk.Stack.of(service)
    described, served = stack.template_options.description, f"{label.model} on {engine}"
    if described is None:
        stack.template_options.description = f"{DESCRIPTION_PREFIX}{served}"
    elif described.startswith(DESCRIPTION_PREFIX) and served not in described:
        stack.template_options.description = f"{described}, {served}"[:_LONGEST_DESCRIPTION]
    metadata = dict(stack.template_options.metadata or {})
    found = dict(metadata.get(METADATA_KEY, {}))
    if _ids(service, stack):
        services = dict(found.get("services", {}))
        if name in services:
            raise ValueError(f"{service.node.path}: the stack has another service {name!r}; choose another id.")
        found["services"] = services | {name: asdict(label)}
    else:
        found |= asdict(label)
    stack.template_options.metadata = metadata | {METADATA_KEY: found}


def _ids(service: Construct, stack: cdk.Stack) -> list[str]:
    """Return the ids from the stack to the service that are a part of logical ids."""
    below = service.node.path.removeprefix(stack.node.path).strip("/")
    return [each for each in below.split("/") if each != _HIDDEN]

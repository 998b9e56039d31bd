"""The roles that a resource acts as."""

import re
from collections.abc import Iterator
from typing import Any

from slipway.changes.access.attachments import ROLE
from slipway.changes.access.policies import is_policy
from slipway.changes.template.resolve import is_function
from slipway.changes.template.resources import Resource, Resources
from slipway.changes.template.values import logical_id_in, shown

_PROFILE = "AWS::IAM::InstanceProfile"
_IS_ROLE = re.compile(r":iam::.*:(role|instance-profile)/")
_KEYS = re.compile(r"(Roles?|RoleArn|RoleARN|InstanceProfile|Credentials)$")
_NO_ROLE = ("Environment", "Tags", "Metadata")  # may name roles, but lets nothing act as them


def acting_roles(resource: Resource, resources: Resources) -> dict[str, str]:
    """The roles that a resource acts as, with the property: `${Role}` of the template, otherwise ARN or name."""
    if resource.type.startswith("AWS::IAM::") and resource.type != _PROFILE:
        return {}
    found: dict[str, str] = {}
    for path, value in _leaves(resource.properties, ()):
        for role in _roles(path[-1] if path else "", value, resources):
            found.setdefault(role, ".".join(path))
    return found


def _roles(key: str, value: Any, resources: Resources) -> Iterator[str]:
    name = logical_id_in(shown(value))
    kind = resources[name].type if name in resources else ""
    if kind == ROLE:
        yield "${" + name + "}"
    elif kind == _PROFILE:
        for _, each in _leaves(resources[name].properties.get("Roles", []), ()):
            yield from _roles("Role", each, resources)
    elif not kind and (_IS_ROLE.search(shown(value)) or (_KEYS.search(key) and shown(value))):
        yield shown(value)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All texts and references outside policies; an item of a list has the path of its list."""
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each, path)
    elif isinstance(value, dict) and not is_function(value):
        if not is_policy(value):
            for key, each in value.items():
                if key not in _NO_ROLE:
                    yield from _leaves(each, (*path, key))
    else:
        yield path, value

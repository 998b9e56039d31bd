"""Logical ids that hold a hash: another content has to make another resource, also where a parameter brings it."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .editing.places import Template, of_type

_ARTEFACTS = re.compile(r"RoleArtefacts[0-9a-f]{8}")


def salt(template: Template, values: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Give new ids to resources that change with these values, as the CDK gives for other settings.

    An API answers by its deployment's copy of its policy; instances of both fleets of an update start by their own
    policy of the role. Machines keep their ids: a value of one group of a fleet would replace those of all groups.
    values: of parameters; those that are empty, a parameter's default or the deployment's own value change no id.
    """
    known = {name: own.get(name, each.get("Default")) for name, each in template["Parameters"].items()}
    other = {name: value for name, value in values.items() if name in known and value not in ("", known[name])}
    for ids, content in list(_hashed(template)):
        text = json.dumps(content)
        told = {name: other[name] for name in sorted(other) if f'"Ref": "{name}"' in text or f"${{{name}}}" in text}
        if told:
            digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]
            template["Resources"] = _renamed(template["Resources"], {name: f"{name}{digest}" for name in ids})


def _hashed(template: Template) -> Iterator[tuple[list[str], Any]]:
    """Ids that change together, and the content that their hash is of."""
    resources = template["Resources"]
    yield list(of_type(template, "AWS::ApiGateway::Deployment")), of_type(template, "AWS::ApiGateway::RestApi")
    yield from (([name], resources[name]) for name in resources if _ARTEFACTS.search(name))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A policy's name is its id, too: the old policy's end would else take the new one away."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if isinstance(value, dict):
        return {names.get(name, name): _renamed(each, names) for name, each in value.items()}
    return value

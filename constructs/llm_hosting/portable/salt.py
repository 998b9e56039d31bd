"""Logical ids with a hash of the content: other content must make another resource, also if a parameter holds it."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .editing.places import Template, of_type

_ARTEFACTS = re.compile(r"RoleArtefacts[0-9a-f]{8}")


def salt(template: Template, values: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Give new ids to resources that change with these values, as the CDK does for other settings.

    An API answers by the copy of its policy in its deployment. During an update, old and new instances start with the
    role's policy of their own configuration. Machines keep their ids: a value of one group of a fleet would replace the
    machines of all groups.
    values: values of parameters. An empty value, a parameter's default and the deployment's own value change no id.
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
    """Yield ids that change together, and the content that their hash covers."""
    resources = template["Resources"]
    yield list(of_type(template, "AWS::ApiGateway::Deployment")), of_type(template, "AWS::ApiGateway::RestApi")
    yield from (([name], resources[name]) for name in resources if _ARTEFACTS.search(name))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Rename a resource. A policy also gets a new name: otherwise deleting the old policy would delete the new one."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if isinstance(value, dict):
        return {names.get(name, name): _renamed(each, names) for name, each in value.items()}
    return value

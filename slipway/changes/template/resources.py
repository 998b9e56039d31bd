"""The resources of a template, with all values resolved that are known before the deploy."""

from dataclasses import dataclass
from typing import Any

from slipway.changes.template.resolve import Resolver

RETAINING = ("Retain", "RetainExceptOnCreate")


@dataclass(frozen=True)
class Resource:
    """One resource of a template.

    condition: None if the resource exists for certain, otherwise the expression that only AWS can evaluate. attributes:
    those beside the properties, such as DependsOn; an edit of one changes nothing on AWS by itself.
    """

    logical_id: str
    type: str
    properties: dict[str, Any]
    deletion_policy: str
    replace_policy: str
    condition: Any
    attributes: dict[str, Any]


Resources = dict[str, Resource]
"""Resources by logical id."""


def resources_of(template: dict[str, Any], values: dict[str, str], region: str) -> Resources:
    """The resources by logical id, without those whose condition is false."""
    resolver = Resolver(template, values, region)
    found = {}
    for logical_id, resource in (template.get("Resources") or {}).items():
        if not isinstance(resource, dict) or "Type" not in resource:
            continue  # a loop, which a macro unrolls
        condition = resolver.condition(resource["Condition"]) if "Condition" in resource else True
        if condition is False:
            continue
        properties = resolver.value(resource.get("Properties") or {})
        if not isinstance(properties, dict):
            properties = {}
        found[logical_id] = Resource(
            logical_id,
            resource["Type"],
            properties,
            str(resolver.value(resource.get("DeletionPolicy") or "Delete")),
            str(resolver.value(resource.get("UpdateReplacePolicy") or "Delete")),
            None if condition is True else condition,
            _attributes(resource),
        )
    return found


def _attributes(resource: dict[str, Any]) -> dict[str, Any]:
    keys = ("Metadata", "CreationPolicy", "UpdatePolicy", "DependsOn")
    found: dict[str, Any] = {key: resource[key] for key in keys if key in resource}
    if "DependsOn" in found:
        names = found["DependsOn"]
        found["DependsOn"] = sorted({str(each) for each in (names if isinstance(names, list) else [names])})
    return found


def values_at(value: Any, path: list[str]) -> list[Any]:
    """All values at a path. `*` stands for the items of a list; any other list holds alternatives of one value."""
    if not path:
        return [value]
    if isinstance(value, list) and path[0] == "*":
        return [found for each in value for found in values_at(each, path[1:])]
    if isinstance(value, list):
        return [found for each in value for found in values_at(each, path)]
    return values_at(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else []

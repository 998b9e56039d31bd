"""CloudFormation's resource schemas from cfn-lint, each read on first use."""

import contextlib
import functools
import importlib.resources
import json
from typing import Any

Path = tuple[str, ...]
_MOST_TYPES = "us-east-1"  # the region with the most resource types

# Names that the schemas do not mark as create-only. Source: the API reference of CreateInferenceComponent: "A unique
# name to assign to the inference component."
_NAMED = {"AWS::SageMaker::InferenceComponent": "InferenceComponentName"}


class Schema:
    """What CloudFormation says about the properties of one resource type."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.create_only = self._paths("createOnlyProperties")
        self.conditionally_create_only = self._paths("conditionalCreateOnlyProperties")
        self.read_only = self._paths("readOnlyProperties")
        self.tags: Path = _path(content.get("tagging", {}).get("tagProperty", "/properties/Tags"))
        handlers = content.get("handlers")
        self.never_updates = bool(handlers and "update" not in handlers)

    def _paths(self, key: str) -> list[Path]:
        return [_path(each) for each in self.content.get(key, [])]

    def is_set(self, path: Path) -> bool:
        """Whether the list's order means nothing (`insertionOrder: false`)."""
        return self.at(path).get("insertionOrder") is False or (self.content.get("typeName"), path) in _SETS

    def knows(self, path: Path) -> bool:
        """Whether the type has the property."""
        return path[0] in self.content.get("properties", {})

    def physical_names(self, resource_type: str) -> list[str]:
        """The properties that together name a resource in its account; [] if AWS chooses the name."""
        identity = [_path(each) for each in self.content.get("primaryIdentifier", [])]
        if identity and not any(each in self.read_only for each in identity):
            return [path[0] for path in identity]
        if resource_type in _NAMED:
            return [_NAMED[resource_type]]
        noun = resource_type.split("::")[-1]
        own = [path[0] for path in self.create_only if len(path) == 1 and _names(path[0], noun)]
        return sorted(own, key=len)[-1:]

    def at(self, path: Path) -> dict[str, Any]:
        """The schema of a property; {} if the type has no such property."""
        found = self.content
        for part in path:
            found = self._followed(found)
            step = found.get("items") if part == "*" else found.get("properties", {}).get(part)
            if not isinstance(step, dict):
                return {}
            found = step
        return self._followed(found)

    def _followed(self, schema: dict[str, Any]) -> dict[str, Any]:
        while isinstance(schema.get("$ref"), str):
            found: Any = self.content
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found.get(part, {}) if isinstance(found, dict) else {}
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema


@functools.cache
def schema_of(resource_type: str, region: str) -> Schema | None:
    """The schema of a type; None if there is none, or if a macro or a custom resource's provider decides."""
    if resource_type.startswith("AWS::Serverless::"):
        return None
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # takes half a second; only this needs it
    from cfnlint.schema._exceptions import ResourceNotFoundError

    for known in (region, _MOST_TYPES):  # cfn-lint may not know the region, or the type in it
        with contextlib.suppress(ResourceNotFoundError, KeyError):
            content = PROVIDER_SCHEMA_MANAGER.get_resource_schema(known, resource_type).schema
            return None if "patternProperties" in content else Schema(content)  # a custom resource
    return None


@functools.cache
def stateful_types() -> frozenset[str]:
    """The types that hold data: those in cfn-lint's list, and stack sets, which hold stacks."""
    text = importlib.resources.files("cfnlint.data.AdditionalSpecs").joinpath("StatefulResources.json").read_text()
    return frozenset(json.loads(text)["ResourceTypes"]) | {"AWS::CloudFormation::StackSet"}


BILLED_BY_THE_HOUR = frozenset(
    {
        "AWS::EC2::Instance",
        "AWS::SageMaker::Endpoint",  # the instances of its variants
    }
)


_SETS = {  # each item has a name; source: CreateTable, DynamoDB API reference
    ("AWS::DynamoDB::Table", (name,))
    for name in ("AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
}


def _names(name: str, noun: str) -> bool:
    """Whether a property names the resource, such as GroupName of a SecurityGroup."""
    return name == f"{noun}Identifier" or (name.endswith("Name") and noun.endswith(name.removesuffix("Name")))


def _path(pointer: str) -> Path:
    return tuple(pointer.removeprefix("/properties/").replace("/items/", "/*/").split("/"))

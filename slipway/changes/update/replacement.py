"""What an update replaces, directly or through references, by CloudFormation's resource schemas."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from slipway.changes.template.resolve import is_function
from slipway.changes.template.resources import Resource, Resources
from slipway.changes.update.comparison import ABSENT, Difference, differences
from slipway.changes.update.schema import Path, Schema, schema_of
from slipway.changes.update.uncertainty import may_be_equal

NEW = "(new)"
"""Marks a reference whose value the update changes."""
MAYBE_NEW = "(maybe new)"

# Properties that CloudFormation refuses to change although the schemas do not say so; "" = any property.
# Source: "Updates are not supported" on the pages of the types in the template reference, and the API reference of
# UpdateInferenceComponent, which takes neither endpoint nor variant.
_FIXED = {
    "AWS::CloudFormation::WaitCondition": ("",),
    "AWS::DynamoDB::Table": ("LocalSecondaryIndexes",),
    "AWS::SageMaker::InferenceComponent": ("EndpointName", "VariantName"),
}

# Attributes that an update in place changes, by type: the property that changes, the attribute that follows it.
# Source: the types' pages in CloudFormation's template reference, "Return values".
_CHANGING = {
    "AWS::EC2::LaunchTemplate": [("LaunchTemplateData", "LatestVersionNumber")],
    "AWS::DynamoDB::Table": [("StreamSpecification", "StreamArn")],
}


@dataclass
class Update:
    """What happens to a resource that both templates hold.

    refused, replacing, maybe_replacing, in_place: the differences by what each does. schema: None if no schema says.
    """

    resource: Resource
    schema: Schema | None
    differences: list[Difference]
    refused: list[Difference] = field(default_factory=list)
    replacing: list[Difference] = field(default_factory=list)
    maybe_replacing: list[Difference] = field(default_factory=list)
    in_place: list[Difference] = field(default_factory=list)

    @property
    def is_replaced(self) -> bool:
        return bool(self.replacing)

    @property
    def may_be_replaced(self) -> bool:
        return bool(self.maybe_replacing) and not self.replacing


def updates(before: Resources, after: Resources, region: str) -> dict[str, Update]:
    """Find the updates, by logical id, of resources that keep their type. Repeats until no more references change."""
    both = [name for name in before if name in after and before[name].type == after[name].type]
    marks: dict[str, dict[str, str]] = {}
    while True:
        found = {name: _update(before[name], after[name], marks, region) for name in both}
        spread = {name: mark for name, update in found.items() if (mark := _marks(update))}
        if spread == marks:
            return {name: update for name, update in found.items() if update.differences}
        marks = spread


def _update(before: Resource, after: Resource, marks: dict[str, dict[str, str]], region: str) -> Update:
    schema = schema_of(before.type, region)
    found = differences(before.properties, _marked(after.properties, marks), schema)
    update = Update(after, schema, found)
    for each in found:
        _sort(update, each)
    return update


def _sort(update: Update, difference: Difference) -> None:
    """Add the difference to the list of its effect."""
    schema = update.schema
    certain = not _only_maybe(difference) and not may_be_equal(difference.before, unmarked(difference.after))
    fixed = _FIXED.get(update.resource.type, ())
    if not difference.path:
        update.schema = None  # an Fn::Transform in place of the properties
        update.in_place.append(difference)
    elif difference.path[0] in fixed or "" in fixed:
        update.refused.append(difference)
    elif schema is None or not schema.knows(difference.path):
        update.in_place.append(difference)
    elif _matches(difference, schema.create_only) or schema.never_updates:
        (update.replacing if certain else update.maybe_replacing).append(difference)
    elif _matches(difference, schema.conditionally_create_only):
        update.maybe_replacing.append(difference)
    else:
        update.in_place.append(difference)


def _matches(difference: Difference, pointers: list[Path]) -> bool:
    return any(_touches(difference, pointer) for pointer in pointers)


def _touches(difference: Difference, pointer: Path) -> bool:
    """Whether the difference lies at or below the pointer, or contains a part at the pointer that differs."""
    path = difference.path
    shared = min(len(path), len(pointer))
    if any(one != other for one, other in zip(path[:shared], pointer[:shared], strict=True)):
        return False
    if len(path) >= len(pointer):
        return True
    rest = pointer[shared:]
    return bool(_part(difference.before, rest) != _part(difference.after, rest))


def _part(value: Any, path: Path) -> Any:
    for index, step in enumerate(path):
        if isinstance(value, list) and step == "*":
            return [_part(each, path[index + 1 :]) for each in value]
        if isinstance(value, dict) and step not in value and is_function(value):
            return value
        value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def _marks(update: Update) -> dict[str, str]:
    """Return a mark for each attribute whose value changes; "*" = the reference itself and every attribute."""
    if update.is_replaced:
        return {"*": NEW}
    if update.may_be_replaced:
        return {"*": MAYBE_NEW}
    if update.schema is None and update.differences:
        return {"*": MAYBE_NEW}  # a custom resource's provider chooses all attributes
    found = {}
    for cause, attribute in _CHANGING.get(update.resource.type, []):
        if any(each.path[0] == cause for each in update.in_place):
            found[attribute] = NEW
    for each in update.in_place:
        found.setdefault(".".join(each.path), NEW)  # some attributes are properties
    return found


def _marked(value: Any, marks: dict[str, dict[str, str]]) -> Any:
    """Return the value with marks on the references that the update changes."""
    if isinstance(value, list):
        return [_marked(each, marks) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("Ref"), str) and len(value) == 1:
        mark = marks.get(value["Ref"], {}).get("*")
        return {"Ref": [value["Ref"], mark]} if mark else value
    if "Fn::GetAtt" in value and len(value) == 1:
        name, attribute = value["Fn::GetAtt"]
        mark = _mark_of(attribute, marks.get(name, {}))
        return {"Fn::GetAtt": [name, attribute, mark]} if mark else value
    return {key: _marked(each, marks) for key, each in value.items()}


def _mark_of(attribute: Any, marks: dict[str, str]) -> str | None:
    for name, mark in marks.items():
        if name in ("*", attribute):
            return mark
    return None


def unmarked(value: Any, *which: str) -> Any:
    """Return the value without the given marks; by default, without any mark."""
    if isinstance(value, list):
        return [unmarked(each, *which) for each in value]
    if not isinstance(value, dict):
        return value
    kinds = which or (NEW, MAYBE_NEW)
    if isinstance(value.get("Ref"), list) and value["Ref"][1] in kinds:
        return {"Ref": value["Ref"][0]}
    if isinstance(value.get("Fn::GetAtt"), list) and value["Fn::GetAtt"][-1] in kinds:
        return {"Fn::GetAtt": value["Fn::GetAtt"][:2]}
    return {key: unmarked(each, *which) for key, each in value.items()}


def _only_maybe(difference: Difference) -> bool:
    return bool(unmarked(difference.after, MAYBE_NEW) == difference.before)


def causes(difference: Difference) -> list[str]:
    """Return the resources whose change is the only cause of the difference; [] if the value itself differs."""
    if unmarked(difference.after) != difference.before:
        return []
    return sorted(set(_marked_names(difference.after)))


def _marked_names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _marked_names(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in ("Ref", "Fn::GetAtt") and isinstance(each, list) and each[-1] in (NEW, MAYBE_NEW):
                yield each[0]
            else:
                yield from _marked_names(each)

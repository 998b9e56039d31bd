"""Resolves CloudFormation's intrinsic functions, as far as the template and the region determine their values."""

import re
from collections.abc import Callable
from typing import Any

# Replaces a value that only a deploy determines, such as the ARN of another resource.
UNKNOWN = object()
_NOTHING = object()
_FUNCTIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "Fn::FindInMap": lambda given, mappings: mappings[given[0]][given[1]][given[2]],
    "Fn::Join": lambda given, _: given[0].join(map(str, given[1])),
    "Fn::Select": lambda given, _: given[1][int(given[0])],
    "Fn::Split": lambda given, _: given[1].split(given[0]),
}


def resolve(properties: dict[str, Any], template: dict[str, Any], region: str) -> list[dict[str, Any]]:
    """Resolve the properties twice: with the first value of each Fn::If, and with the second."""
    known = {"AWS::NoValue": _NOTHING, "AWS::Region": region} | {
        name: parameter["Default"]
        for name, parameter in template.get("Parameters", {}).items()
        if "Default" in parameter and parameter["Type"] in ("String", "Number")
    }
    return [_resolved(properties, known, template.get("Mappings", {}), branch) for branch in (1, 2)]


def _resolved(value: Any, known: dict[str, Any], mappings: dict[str, Any], branch: int) -> Any:
    if isinstance(value, list):
        items = [_resolved(each, known, mappings, branch) for each in value]
        return [each for each in items if each is not _NOTHING]
    if not isinstance(value, dict):
        return value
    name, argument = next(iter(value.items()), ("", ""))
    if name == "Ref":
        return known.get(argument, UNKNOWN)
    if name == "Fn::If":
        return _resolved(argument[branch], known, mappings, branch)
    if name == "Fn::Sub" and isinstance(argument, str):
        parts = {part: known.get(part, UNKNOWN) for part in re.findall(r"\$\{([^!}]+)\}", argument)}
        if UNKNOWN in parts.values():
            return UNKNOWN
        return re.sub(r"\$\{([^!}]+)\}", lambda match: str(parts[match[1]]), argument)
    if name.startswith("Fn::"):
        given = _resolved(argument, known, mappings, branch)
        try:
            return UNKNOWN if name not in _FUNCTIONS or _is_unknown(given) else _FUNCTIONS[name](given, mappings)
        except LookupError:  # cfn-lint reports a missing map or index
            return UNKNOWN
    members = {key: _resolved(each, known, mappings, branch) for key, each in value.items()}
    return {key: each for key, each in members.items() if each is not _NOTHING}


def _is_unknown(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, list) and any(_is_unknown(each) for each in value))

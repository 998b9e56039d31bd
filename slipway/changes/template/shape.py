"""Checks that a template has the shape which the comparison relies on."""

from collections.abc import Iterator
from typing import Any

_DEEPEST = 100  # far beyond any template, far below the depth that Python recurses to
_SECTIONS = ("Parameters", "Mappings", "Conditions", "Resources", "Outputs")


def faults(template: dict[str, Any]) -> Iterator[str]:
    """Each fault of the template's shape, as half a sentence."""
    if _is_deep(template):
        yield "it is nested too deep"
        return
    for section in _SECTIONS:
        content = template.get(section)
        if not isinstance(content, dict | None):
            yield f"{section} must be a mapping"
            continue
        for name, entry in (content or {}).items():
            if not isinstance(name, str):
                yield f"{section} has the name {name!r}, which must be text"
            elif name.startswith("Fn::"):
                continue  # a loop, or an include
            elif section == "Conditions":
                if not _is_condition(entry):
                    yield f"Conditions.{name} is not a condition"
            elif not isinstance(entry, dict):
                yield f"{section}.{name} must be a mapping"
            elif section in ("Parameters", "Resources"):
                yield from _keys(section, name, entry)


def _keys(section: str, name: str, entry: dict[str, Any]) -> Iterator[str]:
    if not isinstance(entry.get("Type", "String" if section == "Parameters" else None), str):
        yield f"{section}.{name} has no Type"
    if section == "Resources":
        if not isinstance(entry.get("Properties"), dict | None):
            yield f"Resources.{name}.Properties must be a mapping"
        if not isinstance(entry.get("Condition"), str | None):
            yield f"Resources.{name}.Condition must be the name of a condition"


def _is_condition(given: Any) -> bool:
    if not isinstance(given, dict) or len(given) != 1:
        return False
    ((name, argument),) = given.items()
    if name == "Condition":
        return isinstance(argument, str)
    if name == "Fn::Equals":
        return isinstance(argument, list) and len(argument) == 2
    listed = name in ("Fn::And", "Fn::Or", "Fn::Not") and isinstance(argument, list) and bool(argument)
    return listed and all(_is_condition(each) for each in argument)


def _is_deep(template: Any) -> bool:
    level = [template]
    for _ in range(_DEEPEST):
        level = [item for each in level for item in _items(each)]
        if not level:
            return False
    return True


def _items(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []

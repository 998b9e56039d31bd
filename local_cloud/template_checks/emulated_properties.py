"""Finds types, attributes and properties of a template that the local cloud would silently ignore."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("emulated_properties.json")
ATTRIBUTES = {"Type", "Properties", "Condition", "DeletionPolicy", "DependsOn", "Metadata", "UpdateReplacePolicy"}


def findings(template: dict[str, Any]) -> list[str]:
    """One sentence for each type, attribute or property that is neither emulated nor listed as not emulated."""
    known = {name: _paths(lists) for name, lists in json.loads(DATA.read_text()).items()}
    return [
        finding
        for logical_id, resource in template.get("Resources", {}).items()
        for finding in _resource_findings(logical_id, resource, known)
    ]


def _paths(lists: dict[str, Any]) -> set[str]:
    return {*lists["emulated"], *lists.get("not_emulated", {})}


def _resource_findings(logical_id: str, resource: dict[str, Any], known: dict[str, set[str]]) -> Iterator[str]:
    name = resource["Type"]
    if name not in known:
        yield f"{logical_id}: the local cloud does not know the type {name}; emulate it, then list it in {DATA.name}."
        return
    unknown = sorted(resource.keys() - ATTRIBUTES)
    unknown += _unknown_paths(resource.get("Properties", {}), "", known[name])
    for path in unknown:
        yield (
            f"{logical_id} ({name}): the local cloud would ignore {path}; emulate it, "
            f"or list it in {DATA.name} as not emulated with a reason."
        )


def _unknown_paths(value: Any, path: str, known: set[str]) -> Iterator[str]:
    """The unknown paths below `value`; a known path without deeper ones covers everything below it."""
    if isinstance(value, list):
        for item in value:
            yield from _unknown_paths(item, path, known)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Fn::If":
                yield from _unknown_paths(item[1:], path, known)
            elif key != "Ref" and not key.startswith("Fn::"):
                yield from _unknown_below(item, f"{path}.{key}".removeprefix("."), known)


def _unknown_below(value: Any, path: str, known: set[str]) -> Iterator[str]:
    if path in known or value in ({}, []):
        return
    if any(name.startswith(f"{path}.") for name in known):
        yield from _unknown_paths(value, path, known)
    else:
        yield path

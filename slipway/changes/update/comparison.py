"""Finds the properties that differ. The order of keys and of set-like lists does not count."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.changes.access.policies import is_policy, ordered_policy
from slipway.changes.template.resolve import is_function
from slipway.changes.template.values import text_of
from slipway.changes.update.schema import Path, Schema

ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One value that differs. The path has `*` for an item of a list. ABSENT stands for a missing value."""

    path: Path
    before: Any
    after: Any

    @property
    def name(self) -> str:
        return ".".join(self.path)


def differences(before: dict[str, Any], after: dict[str, Any], schema: Schema | None) -> list[Difference]:
    """The differences between two versions of a resource's properties."""
    one, other = ordered(before, schema), ordered(after, schema)
    return list(_unique(_compared(one, other, ())))


def ordered(value: Any, schema: Schema | None, path: Path = ()) -> Any:
    """The value with set-like lists sorted."""
    if isinstance(value, dict):
        if "Statement" in value and is_policy(value):
            return ordered_policy(value)
        return {key: ordered(item, schema, (*path, key)) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [ordered(item, schema, (*path, "*")) for item in value]
    if schema and (schema.is_set(path) or path == schema.tags):
        return sorted(items, key=text_of)
    return items


def _compared(one: Any, other: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if one == other:
        return
    if _are(dict, one, other) and not any(isinstance(each, dict) and is_function(each) for each in (one, other)):
        first, second = ({} if each == ABSENT else each for each in (one, other))
        for key in dict.fromkeys([*first, *second]):
            yield from _compared(first.get(key, ABSENT), second.get(key, ABSENT), (*path, key))
    elif _are(list, one, other):
        yield from _compared_lists([] if one == ABSENT else one, [] if other == ABSENT else other, path)
    else:
        yield path, one, other


def _compared_lists(one: list[Any], other: list[Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    gone, new = _without(one, other), _without(other, one)
    if not gone and not new:
        yield path, one, other  # only the order differs
    elif all(isinstance(each, str) for each in [*gone, *new]):
        yield path, one or ABSENT, other or ABSENT
    else:
        for index in range(max(len(gone), len(new))):
            first = gone[index] if index < len(gone) else ABSENT
            second = new[index] if index < len(new) else ABSENT
            yield from _compared(first, second, (*path, "*"))


def _without(items: list[Any], others: list[Any]) -> list[Any]:
    left = list(others)
    rest = []
    for each in items:
        if each in left:
            left.remove(each)
        else:
            rest.append(each)
    return rest


def _are(kind: type, one: Any, other: Any) -> bool:
    """Whether both are of the kind and not both empty; ABSENT counts as an empty value of the kind."""
    kinds = all(isinstance(each, kind) or each == ABSENT for each in (one, other))
    return kinds and any(isinstance(each, kind) and each for each in (one, other))


def _unique(found: Iterator[tuple[Path, Any, Any]]) -> Iterator["Difference"]:
    seen = set()
    for path, before, after in found:
        key = (path, text_of(before), text_of(after))
        if key not in seen:
            seen.add(key)
            yield Difference(path, before, after)

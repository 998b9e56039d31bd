"""Compares a row of JSON with the types of its columns, and names what is wrong in plain words."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_WORDS = {str: "a text", float: "a number", int: "a whole number", bool: "true or false", NoneType: "null"}
_SHOWN = 80  # characters of a wrong value that a message repeats


def problems(value: object, kind: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the problem of each value that has another type than its column.

    kind: a dataclass, or the type of one of its fields.
    """
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if any(_is_plain(value, each) for each in members):
        return
    for each in members:
        origin = get_origin(each)
        if isinstance(value, dict) and is_dataclass(each):
            yield from _problems_of_row(value, each, path)
            return
        if isinstance(value, dict) and origin is Mapping:
            for name, item in value.items():
                yield from problems(item, get_args(each)[1], _below(path, name))
            return
        if isinstance(value, list) and origin is tuple:
            for item in value:
                yield from problems(item, get_args(each)[0], path)
            return
    yield path, f"{repr(value)[:_SHOWN]} is not allowed; use {' or '.join(map(_words, members))}"


def _problems_of_row(row: Mapping[str, object], kind: Any, path: str) -> Iterator[tuple[str, str]]:
    columns, hints = fields(kind), get_type_hints(kind)
    for each in columns:
        if each.name not in row and each.default is each.default_factory is MISSING:
            or_null = "; write null if it is not known" if NoneType in get_args(hints[each.name]) else ""
            yield _below(path, each.name), f"is missing{or_null}"
    for name, value in row.items():
        if name in hints:
            yield from problems(value, hints[name], _below(path, name))
        else:
            yield _below(path, name), f"is not a column; use one of {', '.join(hints)}"


def _is_plain(value: object, kind: Any) -> bool:
    """Whether the value is a text, number, truth value or null of this type."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, float) and not math.isfinite(value):
        return False
    plain = (int, float) if kind is float else kind
    return kind in _WORDS and isinstance(value, plain)


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    return _WORDS.get(kind) or ("a list" if get_origin(kind) is tuple else "an object")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

"""Whether two values that differ in a template may be the same on AWS."""

import re
from collections.abc import Iterator
from typing import Any

from slipway.changes.template.resolve import is_function


def may_be_equal(one: Any, other: Any) -> bool:
    """Whether an unknown value, such as an import or a parameter without a default, may equal the other value.

    References to resources are known to differ: another resource has another id.
    """
    unknown, others = set(_unknown(one)), set(_unknown(other))
    if unknown == others:
        return False
    if unknown and others:
        return True
    literal, pattern = (other, one) if unknown else (one, other)
    if isinstance(literal, list | dict):
        return bool(literal) and not is_function(literal) if isinstance(literal, dict) else True
    parts = [_pattern(each) for each in _parts(pattern)]
    return bool(re.fullmatch("".join(parts), literal, re.DOTALL))


def _parts(value: Any) -> list[Any]:
    joined = value.get("Fn::Join") if isinstance(value, dict) else None
    return joined[1] if joined and joined[0] == "" and isinstance(joined[1], list) else [value]


def _pattern(part: Any) -> str:
    if isinstance(part, dict) and "Fn::If" in part:
        return "(?:" + "|".join(_pattern(each) for each in part["Fn::If"][1:]) + ")"
    return re.escape(part) if isinstance(part, str) else ".*"


def _unknown(value: Any) -> Iterator[str]:
    """The parts that only AWS knows, except ids and attributes of resources."""
    if isinstance(value, dict) and is_function(value):
        ((name, argument),) = value.items()
        if name not in ("Ref", "Fn::GetAtt", "Fn::Join", "Fn::NoEcho"):
            yield str(value)
        elif name == "Fn::Join":
            yield from _unknown(argument[1])
        elif name == "Ref" and str(argument).startswith("AWS::"):
            yield str(argument)
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _unknown(each)

"""Sizes of items, and billing units."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from simulation.aws.errors import invalid
from simulation.aws.expressions import Item

MAX_ITEM_BYTES = 400 * 1024


def copied(item: Item) -> dict[str, Any]:
    """Return a deep copy of an item."""
    return {name: _copied(value) for name, value in item.items()}


def size(item: Item | None) -> int:
    """Return an item's size in bytes: names and values in UTF-8."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items()) if item else 0


def checked_size(item: Item) -> int:
    """Return an item's size in bytes. Raises Refusal for an item that DynamoDB does not store."""
    for name, value in item.items():
        if len(value) != 1:
            raise invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one")
        ((kind, content),) = value.items()
        if kind == "NS" and (not content or len(set(content)) != len(content)):
            raise invalid(f"One or more parameter values were invalid: the set {name} is empty or has duplicates")
        if kind == "N":
            float(content)
    in_bytes = size(item)
    if in_bytes > MAX_ITEM_BYTES:
        raise invalid("Item size has exceeded the maximum allowed size")
    return in_bytes


@dataclass
class Units:
    """Request units of an on-demand table."""

    reads: float = 0
    writes: float = 0
    index_writes: float = 0

    def read(self, size_in_bytes: int, *, consistent: bool) -> None:
        self.reads += max(1, ceil(size_in_bytes / 4096)) * (1 if consistent else 0.5)

    def write(self, size_in_bytes: int, *, transaction: bool = False) -> None:
        """Count a write. size_in_bytes: the larger of the item before and after."""
        self.writes += max(1, ceil(size_in_bytes / 1024)) * (2 if transaction else 1)


def _copied(value: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, content),) = value.items()
    if kind == "M":
        return {kind: copied(content)}
    return {kind: list(content) if isinstance(content, list) else content}


def _size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return len(content.strip("-0.").replace(".", "")) // 2 + 2
    if kind == "B":
        return len(content)
    if kind == "NS":
        return sum(_size({"N": each}) for each in content)
    if kind == "SS":
        return sum(len(each.encode()) for each in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _size(each) for name, each in content.items())
    return 1

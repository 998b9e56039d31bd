"""Why each of our roles has each of its permissions, from `permissions.yaml`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from importlib import resources
from typing import Any

import yaml

from slipway.evidence.names import short


@dataclass(frozen=True)
class Reason:
    """A row of the table: roles, actions, the place where they are allowed, and the reason.

    place: a kind of resource, in words. when: the setting that adds the permission; "" = always.
    """

    roles: tuple[str, ...]
    actions: tuple[str, ...]
    place: str
    why: str
    when: str


@dataclass(frozen=True)
class Role:
    """One of our roles. ids: ends of its logical ids. title: in words."""

    name: str
    ids: tuple[str, ...]
    title: str


def roles() -> list[Role]:
    """Return all roles, in the table's order."""
    return [Role(name, tuple(row["id"]), row["title"]) for name, row in _file()["roles"].items()]


@cache
def role_of(logical_id: str) -> Role | None:
    """Return our role with that logical id; None for a role of somebody else."""
    name = short(logical_id)
    fitting = [(len(end), role) for role in roles() for end in role.ids if name.endswith(end)]
    return max(fitting, key=lambda each: each[0])[1] if fitting else None


def reasons() -> Iterator[Reason]:
    """Yield the rows, in the table's order."""
    for row in _file()["permissions"]:
        yield Reason(tuple(row["by"]), tuple(row["actions"]), row["at"], row["why"], row.get("when", ""))


@cache
def place_of(resource: str) -> str:
    """Return a resource, as `plain` spells it, in words; the resource itself if no pattern fits."""
    for pattern, place in _patterns():
        if pattern.match(resource):
            return place
    return resource


def reason_for(role: str, action: str, resource: str) -> Reason | None:
    """Return the row for a permission of a role; None if there is none."""
    return _rows().get((role, action, place_of(resource)))


@cache
def _rows() -> dict[tuple[str, str, str], Reason]:
    return {(role, action, row.place): row for row in reasons() for role in row.roles for action in row.actions}


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(translate(pattern)), place) for pattern, place in _file()["places"].items()]


@cache
def _file() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("permissions.yaml").read_text())
    return content

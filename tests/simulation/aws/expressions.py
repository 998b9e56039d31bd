"""DynamoDB's expressions, as far as the handlers use them: conditions, key conditions and updates, parsed once."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulation.aws.errors import invalid

Value = Mapping[str, Any]
Item = Mapping[str, Value]
Names = tuple[tuple[str, str], ...]  # placeholder and attribute

ABSENT, PRESENT = "attribute_not_exists", "attribute_exists"
_TERM = re.compile(rf"({ABSENT}|{PRESENT})\((\S+)\)|(\S+) (=|<=) (:\w+)|size\((\S+)\) (<) (:\w+)")
_CLAUSE = re.compile(r"\s*(ADD|SET|DELETE|REMOVE) ")
_ACTION = re.compile(r"(\S+) (?:= )?(:\w+)(?:, )?")
_REMOVAL = re.compile(r"([^\s,]+)(?:, )?")
_RESERVED = frozenset(
    " ".join(json.loads((Path(__file__).parent / "reserved_words.json").read_text())["words"]).split()
)


class Term(NamedTuple):
    """`attribute operator value`; ABSENT and PRESENT have no value, and `<` compares the size of a set."""

    attribute: str
    operator: str
    value: str = ""

    def holds(self, item: Item, values: Mapping[str, Value]) -> bool:
        """Whether the term holds. A value compares only with one of its own type."""
        if self.operator in (ABSENT, PRESENT) or self.attribute not in item:
            return self.operator == (PRESENT if self.attribute in item else ABSENT)
        if self.operator == "<":
            return len(item[self.attribute]["SS"]) < int(values[self.value]["N"])
        (kind, left), (other_kind, right) = comparable(item[self.attribute]), comparable(values[self.value])
        return kind == other_kind and bool(left == right if self.operator == "=" else left <= right)


class Condition(NamedTuple):
    """A condition holds if all terms of one alternative hold. used: the placeholders of names and values in it."""

    alternatives: tuple[tuple[Term, ...], ...]
    used: frozenset[str]

    def holds(self, item: Item, values: Mapping[str, Value]) -> bool:
        return any(all(term.holds(item, values) for term in terms) for terms in self.alternatives)


class Action(NamedTuple):
    """One action of an update: ADD a number or texts, DELETE texts from a set, SET or REMOVE an attribute."""

    verb: str
    attribute: str
    value: str


class Update(NamedTuple):
    """An update expression. used: the placeholders of names and values in it."""

    actions: tuple[Action, ...]
    used: frozenset[str]


def comparable(value: Value) -> tuple[str, Any]:
    """Return a value's type, and its content as Python orders it."""
    ((kind, content),) = value.items()
    return kind, Decimal(content) if kind == "N" else content


@cache
def condition(text: str, names: Names) -> Condition:
    """Parse an expression. Raises Refusal."""
    used: set[str] = set()
    alternatives = tuple(
        tuple(_term(term, dict(names), used) for term in alternative.split(" AND "))
        for alternative in text.split(" OR ")
    )
    return Condition(alternatives, frozenset(used))


@cache
def update(text: str, names: Names) -> Update:
    """Parse an expression. Raises Refusal."""
    used, actions, position, verb = set[str](), list[Action](), 0, ""
    while position < len(text):
        if clause := _CLAUSE.match(text, position):
            verb, position = clause[1], clause.end()
        found = (_REMOVAL if verb == "REMOVE" else _ACTION).match(text, position)
        if not found or not verb:
            raise invalid(f"Invalid UpdateExpression: Syntax error; near: {text[position:]}")
        attribute, value = (found[1], "") if verb == "REMOVE" else found.groups()
        used |= {value} - {""}
        actions.append(Action(verb, _attribute(attribute, dict(names), used), value))
        position = found.end()
    return Update(tuple(actions), frozenset(used))


def _term(text: str, names: Mapping[str, str], used: set[str]) -> Term:
    found = _TERM.fullmatch(text)
    if not found:
        raise invalid(f"Invalid expression: Syntax error; near: {text}")
    exists, named, compared, operator, value, measured, less, limit = found.groups()
    if exists:
        return Term(_attribute(named, names, used), exists)
    if measured:
        compared, operator, value = measured, less, limit
    used.add(value)
    return Term(_attribute(compared, names, used), operator, value)


def _attribute(token: str, names: Mapping[str, str], used: set[str]) -> str:
    if token.startswith("#"):
        if token not in names:
            raise invalid(f"An expression attribute name used in the document path is not defined; name: {token}")
        used.add(token)
        return names[token]
    if token.upper() in _RESERVED:
        raise invalid(f"Invalid expression: Attribute name is a reserved keyword; reserved keyword: {token}")
    if not token.isidentifier():
        raise invalid(f"Invalid expression: Syntax error; token: {token}")
    return token

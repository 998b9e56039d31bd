"""DynamoDB's expressions, as far as the handlers use them: conditions, updates and key conditions, parsed once."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulation.aws.errors import invalid

Value = Mapping[str, Any]
Item = Mapping[str, Value]
Test = Callable[[Item, Mapping[str, Value]], bool]

_TOKEN = re.compile(r"\s*(<=|[=(),]|[:#]?[A-Za-z_][A-Za-z0-9_.]*)")
_RESERVED = frozenset(
    " ".join(json.loads((Path(__file__).parent / "reserved_words.json").read_text())["words"]).split()
)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<=": lambda left, right: left <= right,
}


class Action(NamedTuple):
    """One step of an update: ADD to an attribute what `value` names, or SET it."""

    verb: str
    attribute: str
    value: str


class Comparison(NamedTuple):
    """`attribute operator value`, as key conditions are made of."""

    attribute: str
    operator: str
    value: str


@dataclass(frozen=True)
class Expression:
    """What an expression says, and which names and values it uses."""

    test: Test
    actions: tuple[Action, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    used: frozenset[str] = frozenset()


def comparable(value: Value) -> tuple[str, Any]:
    """A value as Python orders it, with its type, since no two types compare."""
    ((kind, content),) = value.items()
    return kind, Decimal(content) if kind == "N" else content


def condition(text: str, names: Mapping[str, str] | None) -> Expression:
    return _parsed("condition", text, tuple(sorted((names or {}).items())))


def update(text: str, names: Mapping[str, str] | None) -> Expression:
    return _parsed("update", text, tuple(sorted((names or {}).items())))


@cache
def _parsed(kind: str, text: str, names: tuple[tuple[str, str], ...]) -> Expression:
    parser = _Parser(text, dict(names))
    if kind == "update":
        actions = tuple(parser.update())
        return Expression(lambda item, values: True, actions, used=frozenset(parser.used))
    test = parser.disjunction()
    parser.end()
    return Expression(test, comparisons=tuple(parser.comparisons), used=frozenset(parser.used))


class _Parser:
    def __init__(self, text: str, names: dict[str, str]) -> None:
        self._names = names
        self._tokens = list(_tokens(text))
        self.used: set[str] = set()
        self.comparisons: list[Comparison] = []

    def disjunction(self) -> Test:
        tests = [self._conjunction()]
        while self._take("OR"):
            tests.append(self._conjunction())
        return tests[0] if len(tests) == 1 else lambda item, values: any(test(item, values) for test in tests)

    def update(self) -> Iterator[Action]:
        verbs: set[str] = set()
        while self._tokens:
            verb = self._next().upper()
            if verb not in ("SET", "ADD") or verb in verbs:
                raise invalid(f"Invalid UpdateExpression: Syntax error; token: {verb}")
            verbs.add(verb)
            while True:
                attribute = self._attribute()
                if verb == "SET":
                    self._expect("=")
                yield Action(verb, attribute, self._value())
                if not self._take(","):
                    break

    def end(self) -> None:
        if self._tokens:
            raise invalid(f"Invalid expression: Syntax error; token: {self._tokens[0]}")

    def _conjunction(self) -> Test:
        tests = [self._term()]
        while self._take("AND"):
            tests.append(self._term())
        return tests[0] if len(tests) == 1 else lambda item, values: all(test(item, values) for test in tests)

    def _term(self) -> Test:
        return self._absence() if self._take("attribute_not_exists") else self._comparison()

    def _absence(self) -> Test:
        self._expect("(")
        attribute = self._attribute()
        self._expect(")")
        return lambda item, values: attribute not in item

    def _comparison(self) -> Test:
        attribute, operator = self._attribute(), self._next()
        if operator not in _ORDER:
            raise invalid(f"Invalid expression: Syntax error; token: {operator}")
        name = self._value()
        self.comparisons.append(Comparison(attribute, operator, name))
        compare = _ORDER[operator]

        def test(item: Item, values: Mapping[str, Value]) -> bool:
            if attribute not in item:
                return False
            (kind, left), (other_kind, right) = comparable(item[attribute]), comparable(values[name])
            return kind == other_kind and compare(left, right)

        return test

    def _attribute(self) -> str:
        token = self._next()
        if token.startswith("#"):
            if token not in self._names:
                raise invalid(f"An expression attribute name used in the document path is not defined; name: {token}")
            self.used.add(token)
            return self._names[token]
        if token.upper() in _RESERVED:
            raise invalid(f"Invalid expression: Attribute name is a reserved keyword; reserved keyword: {token}")
        if not token[0].isalpha() or "." in token:
            raise invalid(f"Invalid expression: Syntax error; token: {token}")
        return token

    def _value(self) -> str:
        token = self._next()
        if not token.startswith(":"):
            raise invalid(f"Invalid expression: Syntax error; token: {token}")
        self.used.add(token)
        return token

    def _next(self) -> str:
        if not self._tokens:
            raise invalid("Invalid expression: Syntax error; the expression ends too early")
        return self._tokens.pop(0)

    def _take(self, word: str) -> bool:
        if self._tokens and self._tokens[0].upper() == word.upper():
            self._tokens.pop(0)
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise invalid(f"Invalid expression: Syntax error; {word} is missing")


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if not found:
            raise invalid(f"Invalid expression: Syntax error; token: {text[position:].strip()[:10]}")
        yield found[1]
        position = found.end()

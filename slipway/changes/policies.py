"""IAM policy documents: their statements, and whether one is covered by others."""

import fnmatch
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LISTS = ("Action", "NotAction", "Resource", "NotResource")


@dataclass(frozen=True)
class Grant:
    """One action on one resource by one principal, under conditions.

    action, resource, principal: patterns with `*` and `?`; those of NotAction, NotResource and NotPrincipal start with
    "not ". conditions: a canonical text for each operator and key; all must hold.
    """

    action: str
    resource: str
    principal: str
    conditions: frozenset[tuple[str, str, tuple[str, ...]]]

    def covers(self, other: "Grant") -> bool:
        """Everything that the other allows, this allows too; False where it is not certain."""
        return (
            _covers(self.action.lower(), other.action.lower())
            and _covers(self.resource, other.resource)
            and _covers_principal(self.principal, other.principal)
            and all(any(_implies(given, each) for given in other.conditions) for each in self.conditions)
        )

    def __str__(self) -> str:
        return f"{self.action} on {self.resource}" + (f" to {self.principal}" if self.principal else "")


def ordered_policy(document: dict[str, Any]) -> dict[str, Any]:
    """With one order of statements, actions, resources and values; without statement ids, which mean nothing."""
    statements = [_ordered_statement(each) for each in statements_of(document)]
    rest = {key: value for key, value in document.items() if key not in ("Statement", "Id")}
    return {**rest, "Statement": sorted(statements, key=_text)}


def statements_of(document: Any) -> list[dict[str, Any]]:
    """Of a document, or of its JSON text; [] of what is known only on AWS."""
    if isinstance(document, str) and document.lstrip().startswith("{"):
        try:
            document = json.loads(document)
        except ValueError:
            return []
    statements = document.get("Statement", []) if isinstance(document, dict) else []
    return [each for each in as_list(statements) if isinstance(each, dict)]


def is_policy(value: Any) -> bool:
    """An object that IAM reads as a policy document."""
    return bool(statements_of(value)) and all("Effect" in each for each in statements_of(value))


def grants_of(document: Any, effect: str = "Allow") -> set[Grant]:
    """Every combination of action, resource and principal of the statements with that effect."""
    found: set[Grant] = set()
    for statement in statements_of(document):
        if statement.get("Effect") != effect:
            continue
        conditions = frozenset(_conditions(statement))
        for action in _named(statement, "Action"):
            for resource in _named(statement, "Resource"):
                found |= {Grant(action, resource, each, conditions) for each in principals_of(statement)}
    return found


def principals_of(statement: dict[str, Any]) -> list[str]:
    """Such as "*", "Service:lambda.amazonaws.com" or "AWS:123456789012"; [""] of a statement without a principal."""
    for key, word in (("Principal", ""), ("NotPrincipal", "not ")):
        if key in statement:
            given = statement[key]
            if not isinstance(given, dict) or set(given) & {"Ref"} or any(each.startswith("Fn::") for each in given):
                return [word + shown(each) for each in as_list(given)]
            pairs = [(kind, shown(each)) for kind, many in given.items() for each in as_list(many)]
            return [word + ("*" if name == "*" and kind == "AWS" else f"{kind}:{name}") for kind, name in pairs]
    return [""]


def as_list(value: Any) -> list[Any]:
    """IAM takes one value for a list of one."""
    return value if isinstance(value, list) else [value]


def shown(value: Any) -> str:
    """A value of which parts may be known only on AWS, as `${Name}` or `${Name.Attribute}`."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, argument),) = value.items()
        if name == "Ref":
            return "${" + (argument if isinstance(argument, str) else argument[0]) + "}"
        if name == "Fn::Parameter":
            return "${" + argument + "}"
        if name == "Fn::GetAtt":
            return "${" + ".".join(map(shown, argument[:2])) + "}"
        if name == "Fn::Join" and argument[0] == "" and isinstance(argument[1], list):
            return "".join(map(shown, argument[1]))
        if name == "Fn::NoEcho":
            return "(secret)"
    return value if isinstance(value, str) else _text(value)


def _ordered_statement(statement: dict[str, Any]) -> dict[str, Any]:
    ordered: dict[str, Any] = {}
    for key, value in sorted(statement.items()):
        if key in _LISTS:
            ordered[key] = sorted(as_list(value), key=_text)
        elif key == "Condition" and isinstance(value, dict):
            ordered[key] = [list(each) for each in sorted(_conditions(statement))]
        elif key in ("Principal", "NotPrincipal"):
            ordered[key] = sorted(principals_of({key: value}))
        elif key != "Sid":
            ordered[key] = value
    return ordered


def _conditions(statement: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Operator, key in small letters, values in order."""
    condition = statement.get("Condition") or {}
    for operator, pairs in (condition if isinstance(condition, dict) else {"unknown": condition}).items():
        if isinstance(pairs, dict) and not operator.startswith("Fn::"):
            for key, values in pairs.items():
                yield operator, key.lower(), tuple(sorted(shown(each) for each in as_list(values)))
        else:
            yield operator, "", (_text(pairs),)


def _named(statement: dict[str, Any], key: str) -> list[str]:
    if f"Not{key}" in statement:
        names = sorted(shown(each) for each in as_list(statement[f"Not{key}"]))
        return ["not " + ", ".join(names)]
    return [shown(each) for each in as_list(statement.get(key, "" if key == "Resource" else "*"))]


def _covers(pattern: str, other: str) -> bool:
    """Each text that `other` matches, `pattern` matches: certain where a wildcard of `other` falls under a `*`."""
    if pattern == other:
        return True
    if pattern.startswith("not ") or other.startswith("not "):
        return pattern == "*"
    # A wildcard of `other` is taken as a letter that only a wildcard matches.
    letter = other.replace("*", "\x00").replace("?", "\x01")
    escaped = pattern.replace("[", "[[]")
    if "?" in pattern and "\x00" in letter:
        return False
    return fnmatch.fnmatchcase(letter, escaped)


def _covers_principal(given: str, other: str) -> bool:
    if given == other or given == "*":
        return True
    # An account is each of its users and roles that its own policies let.
    account = _account(given)
    return bool(account) and other.startswith("AWS:arn:") and other.split(":")[5:6] == [account]


def _account(principal: str) -> str:
    name = principal.removeprefix("AWS:")
    if name.isdecimal() or (name.startswith("${") and principal.startswith("AWS:") and name.endswith("AccountId}")):
        return name
    parts = name.split(":")
    return parts[4] if len(parts) == 6 and parts[5] == "root" else ""


def _implies(given: tuple[str, str, tuple[str, ...]], wanted: tuple[str, str, tuple[str, ...]]) -> bool:
    """The first condition holds only where the second does: fewer allowed values of the same operator and key."""
    if given[1] != wanted[1] or wanted[0] not in (given[0], f"{given[0]}IfExists"):
        return False
    if given[2] == wanted[2]:
        return True
    operator = given[0].removesuffix("IfExists").removeprefix("ForAnyValue:")
    if operator.startswith("ForAllValues:") or "Not" in operator:
        return "Not" in operator and set(given[2]) >= set(wanted[2])  # more refused values are stricter
    if operator in ("StringLike", "ArnLike", "ArnEquals"):
        return all(any(_covers(pattern, each) for pattern in wanted[2]) for each in given[2])
    return set(given[2]) <= set(wanted[2])


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)

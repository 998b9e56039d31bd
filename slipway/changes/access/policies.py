"""IAM policy documents, their statements and grants."""

import json
import re
from collections.abc import Iterator
from typing import Any

from slipway.changes.access.grants import Condition, Grant
from slipway.changes.template.resolve import is_function
from slipway.changes.template.values import as_list, shown, text_of

_LISTS = ("Action", "NotAction", "Resource", "NotResource")
_ROOT = re.compile(r"AWS:arn:[^:]+:iam::(.+):root")
_ASSET = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def ordered_policy(document: dict[str, Any]) -> dict[str, Any]:
    """The document in a canonical order, without ids of statements, which mean nothing."""
    statements = [_ordered_statement(each) for each in statements_of(document)]
    rest = {key: value for key, value in document.items() if key not in ("Statement", "Id")}
    return {**rest, "Statement": sorted(statements, key=text_of)}


def statements_of(document: Any) -> list[dict[str, Any]]:
    """The statements of a document or of its JSON text; [] if only AWS knows them."""
    if isinstance(document, dict) and is_function(document):
        document = document.get("Fn::ToJsonString", shown(document))
    if isinstance(document, str) and document.lstrip().startswith("{"):
        try:
            document = json.loads(document)
        except ValueError:
            return []
    statements = document.get("Statement", []) if isinstance(document, dict) else []
    return [each for each in as_list(statements) if isinstance(each, dict)]


def documents(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every policy document in the properties, with its path."""
    if isinstance(value, list):
        for each in value:
            yield from documents(each, path)
    elif is_policy(value):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from documents(each, f"{path}.{key}" if path else key)


def is_policy(value: Any) -> bool:
    """Whether IAM reads the value as a policy document."""
    return bool(statements_of(value)) and all("Effect" in each for each in statements_of(value))


def grants_of(document: Any, effect: str = "Allow") -> set[Grant]:
    """Each combination of action, resource and principal in the statements with that effect."""
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
    """The principals, such as "*", "Service:lambda.amazonaws.com" or "AWS:123456789012"; [""] if there are none."""
    for key, word in (("Principal", ""), ("NotPrincipal", "not ")):
        if key in statement:
            given = statement[key]
            if not isinstance(given, dict) or set(given) & {"Ref"} or any(each.startswith("Fn::") for each in given):
                return [word + shown(each) for each in as_list(given)]
            pairs = [(kind, shown(each)) for kind, many in given.items() for each in as_list(many)]
            names = ["*" if name == "*" and kind == "AWS" else f"{kind}:{name}" for kind, name in pairs]
            return [word + _ROOT.sub(r"AWS:\1", each) for each in names]  # an account's number stands for its root
    return [""]


def _ordered_statement(statement: dict[str, Any]) -> dict[str, Any]:
    ordered: dict[str, Any] = {}
    for key, value in sorted(statement.items()):
        if key in _LISTS:
            ordered[key] = sorted(as_list(value), key=text_of)
        elif key == "Condition" and isinstance(value, dict):
            ordered[key] = [list(each) for each in sorted(_conditions(statement))]
        elif key in ("Principal", "NotPrincipal"):
            ordered[key] = sorted(principals_of({key: value}))
        elif key != "Sid":
            ordered[key] = value
    return ordered


def _conditions(statement: dict[str, Any]) -> Iterator[Condition]:
    """Each condition of a statement: operator, key in lower case, sorted values."""
    if "Fn::If" in statement:
        yield "Fn::If", "", (text_of(statement["Fn::If"]),)
    condition = statement.get("Condition") or {}
    for operator, pairs in (condition if isinstance(condition, dict) else {"unknown": condition}).items():
        if isinstance(pairs, dict) and not operator.startswith("Fn::"):
            for key, values in pairs.items():
                yield operator, key.lower(), tuple(sorted(shown(each) for each in as_list(values)))
        else:
            yield operator, "", (text_of(pairs),)


def _named(statement: dict[str, Any], key: str) -> list[str]:
    if f"Not{key}" in statement:
        names = sorted(shown(each) for each in as_list(statement[f"Not{key}"]))
        return ["not " + ", ".join(names)]
    named = [shown(each) for each in as_list(statement.get(key, "" if key == "Resource" else "*"))]
    return [_ASSET.sub("<asset>", each) for each in named]  # the CDK names assets by their hash

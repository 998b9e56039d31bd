"""Both outcomes of conditions that only AWS can evaluate, for checks of what may happen."""

from dataclasses import replace
from typing import Any

from slipway.changes.template.resources import Resources
from slipway.changes.template.values import as_list, text_of


def with_both_branches(resources: Resources) -> Resources:
    """Replace each Fn::If whose condition is unknown by the list of both outcomes.

    "" stands for AWS::NoValue. A statement of a policy keeps the condition, as one more entry of the statement.
    """
    return {name: replace(each, properties=_both(each.properties)) for name, each in resources.items()}


def _both(value: Any) -> Any:
    if isinstance(value, list):
        return [item for each in value for item in (_branches(each) if _is_undecided(each) else [_both(each)])]
    if _is_undecided(value):
        absent = [""] if {"Ref": "AWS::NoValue"} in value["Fn::If"] else []
        return [*_branches(value), *absent]
    return {key: _both(each) for key, each in value.items()} if isinstance(value, dict) else value


def _is_undecided(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"Fn::If"}


def _branches(value: dict[str, Any]) -> list[Any]:
    condition, *branches = value["Fn::If"]
    found = []
    for branch, holds in zip(branches, ("true", "false"), strict=False):
        if branch == {"Ref": "AWS::NoValue"}:
            continue
        for each in as_list(_both(branch)):
            is_statement = isinstance(each, dict) and "Effect" in each
            found.append({**each, "Fn::If": f"{text_of(condition)} is {holds}"} if is_statement else each)
    return found

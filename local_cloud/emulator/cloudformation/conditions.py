"""Fills in pseudo parameters such as AWS::Region in the conditions of templates, which MiniStack does not do."""

import functools
from typing import Any

from local_cloud.emulator.core import ministack

_users = [
    ministack.internals(f"ministack.services.cloudformation.{name}", "_evaluate_conditions")
    for name in ("changesets", "engine", "handlers", "stacks")
]


def _evaluate(evaluate: Any, template: dict[str, Any], parameters: dict[str, Any]) -> Any:
    known = {
        "AWS::AccountId": ministack.account_id(),
        "AWS::Partition": "aws",
        "AWS::Region": ministack.region(),
        "AWS::URLSuffix": "amazonaws.com",
    }
    return evaluate(template, parameters | {name: {"Value": value} for name, value in known.items()})


def install() -> None:
    for module in _users:
        module._evaluate_conditions = functools.partial(_evaluate, module._evaluate_conditions)

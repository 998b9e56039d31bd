"""AWS Budgets: CloudFormation's budgets, with the checks of amount, filter and subscribers that AWS makes."""

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import Properties, Provisioned, register_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import iam

_budgets = ministack.internals(
    "ministack.services.budgets", "_budgets", "_create_budget", "_delete_budget", "_update_budget"
)
_sns = ministack.internals("ministack.services.sns", "_topics")

_MOST_NAME = 100
_CURRENCY = "USD"  # of AWS's public partition
_OF_TAG = re.compile(r"user:[^$]+\$.+")
_MOST_OF_KIND = {"SNS": 1, "EMAIL": 10}


def _create(logical_id: str, properties: Properties, stack: str) -> Provisioned:
    budget = _budget(properties)
    name = budget.setdefault("BudgetName", f"{stack}-{logical_id}-{secrets.token_hex(6)}"[-_MOST_NAME:])
    told = properties.get("NotificationsWithSubscribers") or []
    _refuse(*_problems(budget), *_problems_of_subscribers(told))
    request = {"Budget": budget, "NotificationsWithSubscribers": [_typed(each) for each in told]}
    _demand(_budgets._create_budget(request))
    return name, {"Id": name}


def _update(name: str, old: Properties, properties: Properties, stack: str) -> Provisioned:
    budget = _budget(properties) | {"BudgetName": name}
    _refuse(*_problems(budget))
    _demand(_budgets._update_budget({"NewBudget": budget}))
    return name, {"Id": name}


def _delete(name: str, properties: Properties) -> None:
    if name in _budgets._budgets:
        _budgets._delete_budget({"BudgetName": name})


def _budget(properties: Properties) -> dict[str, Any]:
    """Return the budget as the API takes it, where an amount is a text."""
    budget = json.loads(json.dumps(properties["Budget"]))
    if limit := budget.get("BudgetLimit"):
        limit["Amount"] = str(limit["Amount"])
    return dict(budget)


def _typed(told: dict[str, Any]) -> dict[str, Any]:
    notification = told["Notification"] | {"Threshold": float(told["Notification"]["Threshold"])}
    return {"Notification": notification, "Subscribers": told["Subscribers"]}


def _problems(budget: dict[str, Any]) -> Iterator[str]:
    if not (limit := budget.get("BudgetLimit")):
        yield "Budget limit is required"
        return
    if not float(limit["Amount"]) > 0:
        yield f"Budget limit amount {limit['Amount']} must be greater than 0"
    if budget["BudgetType"] == "COST" and limit["Unit"] != _CURRENCY:
        yield f"Unit {limit['Unit']} is not the currency of the account, {_CURRENCY}"
    for value in budget.get("CostFilters", {}).get("TagKeyValue", []):
        if not _OF_TAG.fullmatch(value):
            yield f"{value!r} is not a tag filter of the form user:<key>$<value>"


def _problems_of_subscribers(told: list[dict[str, Any]]) -> Iterator[str]:
    for each in (each["Subscribers"] for each in told):
        for kind, most in _MOST_OF_KIND.items():
            if sum(one["SubscriptionType"] == kind for one in each) > most:
                yield f"A notification takes at most {most} subscribers of type {kind}"
        for arn in (one["Address"] for one in each if one["SubscriptionType"] == "SNS"):
            yield from _problems_of_topic(arn)


def _problems_of_topic(arn: str) -> Iterator[str]:
    """Look at the policy of the account's own topics; those of other accounts do not exist here."""
    account = ministack.account_id()
    if arn.split(":")[4] != account:
        return
    if (topic := _sns._topics.get(arn)) is None:
        yield f"The SNS topic {arn} does not exist"
        return
    policy = json.loads(topic["attributes"].get("Policy") or "{}")
    if not iam.policy_allows(policy, "budgets.amazonaws.com", "sns:Publish", arn, {"aws:SourceAccount": account}):
        yield f"The policy of the SNS topic {arn} does not let budgets.amazonaws.com publish"


def _demand(answer: ministack.Answer) -> None:
    status, _, body = answer
    if status != 200:
        _refuse(json.loads(body).get("message") or body.decode())


def _refuse(*problems: str) -> None:
    if problems:
        raise ValueError(f"{problems[0]} (Service: Budgets, Status Code: 400)")


def install() -> None:
    register_resource_type(
        "AWS::Budgets::Budget",
        create=_create,
        update=_update,
        delete=_delete,
        replaced_by=("NotificationsWithSubscribers",),
    )

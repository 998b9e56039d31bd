"""Checks that a budget will see the deployment's cost, and may tell its topic."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting import DEPLOYMENT_TAG
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.shared.aws_clients import local_cloud

_FIELD = "operations.monthly_budget_in_usd"
_SERVICE = "budgets.amazonaws.com"
_ACTIVATE = (
    f"aws ce update-cost-allocation-tags-status --cost-allocation-tags-status TagKey={DEPLOYMENT_TAG},Status=Active"
)


def cost_allocation_tag(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the tag of the budget is an active cost allocation tag; without one the budget sees no cost."""
    if local_cloud(account.clients):  # it has no bills
        return
    try:
        found = account.clients("ce").list_cost_allocation_tags(TagKeys=[DEPLOYMENT_TAG])["CostAllocationTags"]
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDeniedException", "ValidationException"):
            raise
        yield Finding(
            _FIELD,
            f"whether {DEPLOYMENT_TAG} is an active cost allocation tag is not known: in an organization only its "
            "management account may ask",
            f"let the management account run `aws ce list-cost-allocation-tags --tag-keys {DEPLOYMENT_TAG}`",
            level="unknown",
        )
        return
    if any(each["Status"] == "Active" for each in found):
        return
    seen = "is not active" if found else "is not known to billing yet, which sees a tag within a day of its first use"
    fix = f"run `{_ACTIVATE}`" if found else f"deploy, and run this a day later: `{_ACTIVATE}`"
    yield Finding(_FIELD, f"sees no cost: the cost allocation tag {DEPLOYMENT_TAG} {seen}", fix, level="warning")


def budget_topic(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the topic's policy lets AWS Budgets publish."""
    arn = deployment.alarms.topic_arn
    if arn is None:  # of a stack that passes its topic to LlmService
        return
    try:
        attributes = account.clients("sns").get_topic_attributes(TopicArn=arn)["Attributes"]
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("NotFound", "NotFoundException"):
            raise
        yield Finding("alarms.topic_arn", f"{arn} does not exist", "make the topic, or name another one")
        return
    statements = json.loads(attributes.get("Policy") or "{}").get("Statement", [])
    if not any(map(_lets_publish, statements if isinstance(statements, list) else [statements])):
        problem = f"tells nobody: the policy of {arn} does not let {_SERVICE} publish"
        fix = f"let the service {_SERVICE} do sns:Publish there, if aws:SourceAccount is {account.id} (docs/cost.md)"
        yield Finding("alarms.topic_arn", problem, fix)


def _lets_publish(statement: dict[str, Any]) -> bool:
    """Return whether a statement allows the action to the service or to everybody.

    Its conditions are taken for fulfilled, except that of SNS's default policy: calls of a service have no owner.
    """
    principal = statement.get("Principal", {})
    named = principal if isinstance(principal, dict) else {"AWS": principal}
    is_anybody = "*" in _listed(named.get("AWS", [])) and "sourceowner" not in str(statement.get("Condition")).lower()
    takes_service = is_anybody or not {_SERVICE, "*"}.isdisjoint(_listed(named.get("Service", [])))
    publishes = any(fnmatchcase("sns:publish", each.lower()) for each in _listed(statement.get("Action", [])))
    return statement.get("Effect") == "Allow" and takes_service and publishes


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value

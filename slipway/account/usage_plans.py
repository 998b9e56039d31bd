"""Checks the account's quota of API Gateway's usage plans."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_STACK = "aws:cloudformation:stack-name"  # a tag that CloudFormation sets on its resources
_QUOTA = 300  # "Usage plans per Region per account"; AWS raises it on request


def usage_plans(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that there is room for the deployment's usage plans: one for each named key, one for the stack's key."""
    pages = account.clients("apigateway").get_paginator("get_usage_plans").paginate()
    plans = [each for page in pages for each in page.get("items", [])]
    others = [each for each in plans if each.get("tags", {}).get(_STACK) != report.name]
    needed = len(deployment.api.keys) + 1
    if len(others) + needed > _QUOTA:
        yield Finding(
            "api.keys",
            f"needs {needed} usage plans, but {account.region} of account {account.id} has {len(others)} others; "
            f"API Gateway allows {_QUOTA} unless AWS has raised the quota",
            "ask Service Quotas for more 'Usage plans' of API Gateway, or use fewer names",
            level="warning",
        )

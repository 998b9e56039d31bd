"""Checks that API Gateway has a role that may write access logs."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account


def cloudwatch_role(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse access logs without the role, because API Gateway refuses such a stage."""
    if not account.clients("apigateway").get_account().get("cloudwatchRoleArn"):
        yield Finding(
            "api.access_logs",
            f"true is refused in {account.region} of account {account.id}, where API Gateway has no role for logs",
            "deploy slipway-account-settings there once",
        )

"""Checks the account's quota of the time that API Gateway waits for a function."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

# "Maximum integration timeout in milliseconds" of regional and private REST APIs: 29,000 by default. AWS raises it to
# at most 300,000 on request, and may lower the account's throttle in return.
_QUOTA = {"ServiceCode": "apigateway", "QuotaCode": "L-E5AE38E3"}


def gateway_timeout(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse a timeout above the account's quota, which API Gateway would refuse at the deploy."""
    wanted = deployment.api.timeout_in_seconds
    quota = _value(account.clients("service-quotas")) / 1000
    if quota < wanted:
        yield Finding(
            "api.timeout_in_seconds",
            f"{wanted} is refused in {account.region} of account {account.id}, whose quota is {quota:g} s",
            f"ask Service Quotas for {wanted * 1000} 'Maximum integration timeout in milliseconds' (L-E5AE38E3), or "
            f"use {int(quota)}",
        )


def _value(quotas: Any) -> float:
    """Return the quota in milliseconds."""
    try:
        found = quotas.get_service_quota(**_QUOTA)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchResourceException":
            raise
        found = quotas.get_aws_default_service_quota(**_QUOTA)  # the quota was never raised
    return float(found["Quota"]["Value"])

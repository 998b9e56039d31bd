"""The account's quota of the time that API Gateway waits for a function."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

# "Maximum integration timeout in milliseconds", of regional and private REST APIs: 29,000 by default, raised up to
# 300,000 on request, for which AWS may lower the account's throttle.
_QUOTA = {"ServiceCode": "apigateway", "QuotaCode": "L-E5AE38E3"}


def gateway_timeout(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """API Gateway refuses a route whose timeout is over the account's quota."""
    wanted = deployment.api.timeout_in_seconds
    quota = _value(account.clients("service-quotas")) / 1000
    if quota < wanted:
        yield Finding(
            "api.timeout_in_seconds",
            f"{wanted} is refused in {account.region} of account {account.id}, whose API Gateway waits {quota:g} s",
            f"ask Service Quotas for {wanted * 1000} 'Maximum integration timeout in milliseconds' (L-E5AE38E3), or "
            f"use {int(quota)}",
        )


def _value(quotas: Any) -> float:
    """The quota in milliseconds."""
    try:
        found = quotas.get_service_quota(**_QUOTA)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchResourceException":
            raise
        found = quotas.get_aws_default_service_quota(**_QUOTA)  # it was never raised
    return float(found["Quota"]["Value"])

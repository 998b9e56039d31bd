"""Checks the account's quota of on-demand vCPUs on EC2."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import COPIES_DURING_UPDATE, VCPU_QUOTA, Report
from slipway.account.account import Account

_FIELD = "hosting.instance_type"
_QUOTA = "L-1216C47A"


def machine_quota(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the quota has room for the machines, and for as many again while an update replaces them.

    Other running instances of the account use the same quota, but are not counted here.
    """
    for wanted in report.quotas:
        quota = value_of(account.clients("service-quotas"), "ec2", _QUOTA)
        needed = wanted.instances // COPIES_DURING_UPDATE
        has = f"the account {account.id} may run {quota} vCPU of CPU types on EC2 in {account.region}"
        fix = f"ask Service Quotas for {wanted.instances} of {VCPU_QUOTA!r} ({_QUOTA})"
        if quota < needed:
            yield Finding(_FIELD, f"{has}; the machines need {needed}", fix)
        elif quota < wanted.instances:
            yield Finding(
                _FIELD, f"{has}; an update needs old and new side by side and would fail", fix, level="warning"
            )


def value_of(quotas: Any, service: str, code: str) -> int:
    """Return the value of one quota of the account in this region."""
    try:
        found = quotas.get_service_quota(ServiceCode=service, QuotaCode=code)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchResourceException":
            raise
        found = quotas.get_aws_default_service_quota(ServiceCode=service, QuotaCode=code)  # never raised
    return int(found["Quota"]["Value"])

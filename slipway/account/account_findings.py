"""Adds findings about the account to a report: quotas, image, weights and log role; reads, never changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment import Deployment
from llm_hosting.finding import LEVELS, Finding
from llm_hosting.preflight.report import Report
from slipway.account.account import Account, is_used
from slipway.account.endpoint_quota import service_quota
from slipway.account.function_concurrency import function_concurrency
from slipway.account.gateway_timeout import gateway_timeout
from slipway.account.image_registry import image_in_registry
from slipway.account.log_role import cloudwatch_role
from slipway.account.weights_in_bucket import weights_in_bucket
from slipway.aws_errors import sentence

CHECKS: dict[str, Callable[[Deployment, Report, Account], Iterator[Finding]]] = {
    "service-quota": service_quota,
    "image-in-registry": image_in_registry,
    "weights-in-bucket": weights_in_bucket,
    "cloudwatch-role": cloudwatch_role,
    "function-concurrency": function_concurrency,
    "gateway-timeout": gateway_timeout,
}


def add_account_findings(deployment: Deployment, report: Report, account: Account) -> Report:
    """The report with the findings of every check that concerns the deployment."""
    try:
        _ = account.id
    except (BotoCoreError, ClientError) as error:  # without credentials nothing else can be asked
        return _with(report, [Finding("--account", sentence(error).rstrip("."), rule="account", level="unknown")])
    asked = [check for check in CHECKS if is_used(check, deployment)]
    found = [finding for check in asked for finding in _findings(check, deployment, report, account)]
    passed = [check for check in asked if check not in {finding.rule for finding in found}]
    return replace(_with(report, found), passed=[*report.passed, *passed], not_checked=[])


def _findings(check: str, deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """A call that AWS refuses gives one finding of level unknown."""
    try:
        for finding in CHECKS[check](deployment, report, account):
            yield replace(finding, rule=check)
    except (BotoCoreError, ClientError) as error:
        yield Finding("--account", sentence(error).rstrip("."), rule=check, level="unknown")


def _with(report: Report, found: Sequence[Finding]) -> Report:
    findings = sorted([*report.findings, *found], key=lambda finding: LEVELS.index(finding.level))
    refused = any(finding.level == "error" for finding in findings)
    return replace(report, findings=findings, verdict="refused" if refused else "ready")

"""What only the account knows: quota, image, weights and API Gateway's log role; read, never changed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment import Deployment
from llm_hosting.finding import Finding
from llm_hosting.preflight.report import Report
from slipway.account.account import Account, Said, is_used
from slipway.account.endpoint_quota import service_quota
from slipway.account.image_registry import image_in_registry
from slipway.account.weights_in_bucket import weights_in_bucket
from slipway.aws_errors import sentence

_LEVELS = ("error", "warning", "unknown", "note")


def cloudwatch_role(deployment: Deployment, report: Report, account: Account) -> Said:
    """API Gateway refuses a stage with access logs while it has no role to write them with."""
    if not account.clients("apigateway").get_account().get("cloudwatchRoleArn"):
        yield (
            "error",
            "api.access_logs",
            f"true is refused in {account.region} of account {account.id}, where API Gateway has no role to write logs "
            "with; deploy slipway-account-settings there once.",
        )


CHECKS: dict[str, Callable[[Deployment, Report, Account], Said]] = {
    "service-quota": service_quota,
    "image-in-registry": image_in_registry,
    "weights-in-bucket": weights_in_bucket,
    "cloudwatch-role": cloudwatch_role,
}


def look(deployment: Deployment, report: Report, account: Account) -> Report:
    """The report with what the account says."""
    try:
        _ = account.id
    except (BotoCoreError, ClientError) as error:  # without credentials nothing else can be asked
        return _with(report, [Finding("--account", sentence(error).rstrip("."), rule="account", level="unknown")])
    asked = [check for check in CHECKS if is_used(check, deployment)]
    found = [finding for check in asked for finding in _findings(check, deployment, report, account)]
    passed = [check for check in asked if check not in {finding.rule for finding in found}]
    return replace(_with(report, found), passed=[*report.passed, *passed], not_checked=[])


def _findings(check: str, deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """What AWS does not answer is unknown, in one sentence."""
    try:
        for level, field, message in CHECKS[check](deployment, report, account):
            yield Finding(field, message.rstrip("."), rule=check, level=level)
    except (BotoCoreError, ClientError) as error:
        yield Finding("--account", sentence(error).rstrip("."), rule=check, level="unknown")


def _with(report: Report, found: Sequence[Finding]) -> Report:
    findings = sorted([*report.findings, *found], key=lambda finding: _LEVELS.index(finding.level))
    refused = any(finding.level == "error" for finding in findings)
    return replace(report, findings=findings, verdict="refused" if refused else "ready")

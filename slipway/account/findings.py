"""Adds findings about the account and region to a report. It reads from AWS and changes nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment.finding import LEVELS, Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import NOT_ASKED, Account, is_used
from slipway.account.adapters_in_bucket import adapters_in_bucket
from slipway.account.bootstrap import bootstrap_version
from slipway.account.budget import budget_topic, cost_allocation_tag
from slipway.account.certificate import certificate
from slipway.account.endpoint_quota import service_quota
from slipway.account.function_concurrency import function_concurrency
from slipway.account.gateway_timeout import gateway_timeout
from slipway.account.hosted_zone import hosted_zone
from slipway.account.image_registry import image_in_registry
from slipway.account.instance_type_offered import instance_type_offered
from slipway.account.log_role import cloudwatch_role
from slipway.account.machine_network import machine_network
from slipway.account.own_keys import own_keys
from slipway.account.scaling_role import scaling_role
from slipway.account.service_network import service_network
from slipway.account.shared_endpoint import shared_endpoint
from slipway.account.usage_plans import usage_plans
from slipway.account.volume_key import volume_key
from slipway.account.vpc_endpoints import vpc_endpoints
from slipway.account.vpc_quota import vpc_quota
from slipway.account.web_acl import web_acl
from slipway.account.weights_in_bucket import weights_in_bucket
from slipway.shared.aws_clients import local_cloud
from slipway.shared.aws_errors import sentence

# Each check has a line in NOT_CHECKED (preflight/report.py). A check that only some deployments need has a row in
# `is_used`.
CHECKS: dict[str, Callable[[Deployment, Report, Account], Iterator[Finding]]] = {
    "bootstrap-version": bootstrap_version,
    "service-quota": service_quota,
    "shared-endpoint": shared_endpoint,
    "image-in-registry": image_in_registry,
    "weights-in-bucket": weights_in_bucket,
    "adapters-in-bucket": adapters_in_bucket,
    "cloudwatch-role": cloudwatch_role,
    "scaling-role": scaling_role,
    "instance-type-offered": instance_type_offered,
    "machine-network": machine_network,
    "service-network": service_network,
    "vpc-quota": vpc_quota,
    "volume-key": volume_key,
    "own-keys": own_keys,
    "function-concurrency": function_concurrency,
    "gateway-timeout": gateway_timeout,
    "usage-plans": usage_plans,
    "vpc-endpoints": vpc_endpoints,
    "certificate": certificate,
    "hosted-zone": hosted_zone,
    "web-acl": web_acl,
    "cost-allocation-tag": cost_allocation_tag,
    "budget-topic": budget_topic,
}


def add_account_findings(deployment: Deployment, report: Report, account: Account) -> Report:
    """Return the report with the findings of every check that concerns the deployment."""
    try:
        identity = f"{account.id} in {account.region}, as {account.caller}"
        here = local_cloud(account.clients)
        report = replace(report, account=f"{identity}, on the local cloud at {here}" if here else identity)
    except (BotoCoreError, ClientError) as error:  # without credentials nothing else can be asked
        return _with(report, [_unasked("account", error)])
    asked = [check for check in CHECKS if is_used(check, deployment)]
    found = [finding for check in asked for finding in _findings(check, deployment, report, account)]
    passed = [check for check in asked if check not in {finding.rule for finding in found}]
    return replace(_with(report, found), passed=[*report.passed, *passed], not_checked=[])


def _findings(check: str, deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Run one check. If AWS refuses a call, return one finding of level unknown."""
    try:
        for finding in CHECKS[check](deployment, report, account):
            yield replace(finding, rule=check)
    except (BotoCoreError, ClientError) as error:
        yield _unasked(check, error)


def _unasked(check: str, error: BotoCoreError | ClientError) -> Finding:
    return Finding(NOT_ASKED, sentence(error).rstrip("."), rule=check, level="unknown")


def _with(report: Report, found: Sequence[Finding]) -> Report:
    findings = sorted([*report.findings, *found], key=lambda finding: LEVELS.index(finding.level))
    if any(finding.level == "error" for finding in findings):
        return replace(report, findings=findings, verdict="refused")
    is_answered = all(finding.field != NOT_ASKED for finding in findings)
    return replace(report, findings=findings, verdict=report.verdict if is_answered else "not asked")

"""Checks the account's quota of VPCs."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.account.machine_quota import value_of

_STACK = "aws:cloudformation:stack-name"  # a tag that CloudFormation sets on its resources


def vpc_quota(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that there is room for the VPC of the deployment's stack, if the stack does not have it already.

    The quota of internet gateways follows that of VPCs (Amazon VPC User Guide).
    """
    pages = account.clients("ec2").get_paginator("describe_vpcs").paginate()
    tags = [{tag["Key"]: tag["Value"] for tag in vpc.get("Tags", [])} for page in pages for vpc in page["Vpcs"]]
    others = [each for each in tags if each.get(_STACK) != report.name]
    quota = value_of(account.clients("service-quotas"), "vpc", "L-F678F1CE")
    if len(others) >= quota:
        problem = f"names none, so the stack makes a VPC, but {account.region} of account {account.id} has "
        fix = "name an existing VPC, or ask Service Quotas for more 'VPCs per Region' (L-F678F1CE)"
        yield Finding("security.vpc", f"{problem}{len(others)} of at most {quota} already", fix)

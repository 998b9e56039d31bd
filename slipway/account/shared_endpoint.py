"""Checks that the shared endpoint of a deployment is deployed."""

from collections.abc import Iterator

from llm_hosting import ENDPOINT_PREFIX
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account


def shared_endpoint(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse a deployment whose endpoint's stack exports no name: CloudFormation would refuse it, too."""
    assert deployment.shared
    name = deployment.shared.name
    pages = account.clients("cloudformation").get_paginator("list_exports").paginate()
    if not any(each["Name"] == f"{ENDPOINT_PREFIX}{name}" for page in pages for each in page["Exports"]):
        problem = f"'shared/{name}' is not deployed in {account.region} of account {account.id}"
        yield Finding("hosting.endpoint", problem, f"run `slipway deploy endpoints/{name}` before")

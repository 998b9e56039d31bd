"""Checks the zone in which the record of the API's domain is made."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account


def hosted_zone(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the zone exists in the account, is public, and has the name that the file gives."""
    domain = deployment.api.domain
    assert domain
    assert domain.zone
    try:
        found = account.clients("route53").get_hosted_zone(Id=domain.zone.id)["HostedZone"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchHostedZone":
            raise
        problem = f"{domain.zone.id} is no zone of account {account.id}"
        yield Finding("api.domain.zone.id", problem, "name one of `aws route53 list-hosted-zones`, or remove the zone")
        return
    name = found["Name"].rstrip(".")
    if name != domain.zone.name:
        yield Finding(
            "api.domain.zone.name", f"{domain.zone.name!r} is not the name of {domain.zone.id}", f"use {name}"
        )
    if found.get("Config", {}).get("PrivateZone"):
        problem = f"{domain.zone.id} is private: only its VPCs would find the name, while the API is public"
        yield Finding("api.domain.zone.id", problem, level="warning", fix="name a public zone")

"""Checks the certificate of the API's domain."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "api.domain.certificate_arn"


def certificate(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the certificate is there, issued, in the account and region, and that it covers the domain."""
    domain = deployment.api.domain
    assert domain
    _, _, _, region, owner, _ = domain.certificate_arn.split(":", 5)
    if (region, owner) != (account.region, account.id):
        there = f"is in {region} of account {owner}, but API Gateway takes one of {account.region} in {account.id}"
        yield Finding(_FIELD, there, "request a certificate there")
        return
    try:
        found = account.clients("acm").describe_certificate(CertificateArn=domain.certificate_arn)["Certificate"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        yield Finding(_FIELD, f"does not exist in {account.region}", "request a certificate, or name another")
        return
    if found["Status"] != "ISSUED":
        problem = f"has the status {found['Status']}, and only an issued certificate can be used"
        yield Finding(_FIELD, problem, "validate its names, or name another")
    names = [found["DomainName"], *found.get("SubjectAlternativeNames", [])]
    # A star stands for one label.
    if not {domain.name, f"*.{domain.name.partition('.')[2]}"} & set(names):
        problem = f"covers {', '.join(dict.fromkeys(names))}, not {domain.name}"
        yield Finding(_FIELD, problem, "name a certificate that covers api.domain.name")

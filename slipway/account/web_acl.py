"""Checks the account's web ACL that is put in front of the API."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "api.waf_acl_arn"


def web_acl(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the ACL exists in the account and region."""
    arn = deployment.api.waf_acl_arn
    assert arn
    _, _, _, region, owner, resource = arn.split(":", 5)
    if (region, owner) != (account.region, account.id):
        there = f"is in {region} of account {owner}, but a stage takes one of {account.region} in {account.id}"
        yield Finding(_FIELD, there, "name an ACL there")
        return
    _, _, name, uid = resource.split("/")
    try:
        account.clients("wafv2").get_web_acl(Name=name, Id=uid, Scope="REGIONAL")
    except ClientError as error:
        if error.response["Error"]["Code"] != "WAFNonexistentItemException":
            raise
        fix = "name one of `aws wafv2 list-web-acls --scope REGIONAL`, or use api.waf"
        yield Finding(_FIELD, f"does not exist in {account.region}", fix)

"""Checks that `cdk bootstrap` has prepared account and region."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.shared.cdk_command import cdk

_VERSION = (
    "/cdk-bootstrap/hnb659fds/version"  # a parameter of Systems Manager; hnb659fds is the CDK's default qualifier
)
_LEAST = 6  # required by the manifests that our apps synthesize


def bootstrap_version(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse an account and region that were never bootstrapped, or with a version that `cdk deploy` refuses."""
    version = _version(account)
    if version < _LEAST:
        has = f"has bootstrap version {version}, and {_LEAST} is needed" if version else "was never bootstrapped"
        fix = cdk(f"bootstrap aws://{account.id}/{account.region} -c deployment={report.name}")
        yield Finding("account", f"{account.id} {has} in {account.region}", fix)


def is_bootstrapped(account: Account) -> bool:
    """Return whether account and region are prepared for the CDK."""
    return _version(account) >= _LEAST


def _version(account: Account) -> int:
    """Return the version of the preparation; 0 = there was none."""
    try:
        return int(account.clients("ssm").get_parameter(Name=_VERSION)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        return 0

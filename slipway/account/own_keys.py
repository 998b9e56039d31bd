"""Checks the keys of the user that a deployment names, and whether their policies name the services that use them."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_STATES = {"Disabled": "is disabled", "PendingDeletion": "is about to be deleted"}


def own_keys(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that each named key exists, is enabled, and encrypts symmetrically. AWS refuses other keys at the deploy.

    Without permission for `kms:GetKeyPolicy` the policies are not checked.
    """
    security, hosting = deployment.security, deployment.hosting
    named = {
        "security.kms_key_arn": security.kms_key_arn,
        "security.log_kms_key_arn": security.log_kms_key_arn,
        "hosting.volume_kms_key_arn": hosting.volume_kms_key_arn,
    }
    kms = account.clients("kms")
    for field, arn in named.items():
        if arn:
            yield from _problem(field, arn, account.region, kms)
    if arn := security.log_kms_key_arn:
        yield from _closed("security.log_kms_key_arn", arn, f"logs.{account.region}.", "encrypts the logs", kms)
    if (arn := security.kms_key_arn) and hosting.queues_in_sagemaker:
        yield from _closed("security.kms_key_arn", arn, "sns.amazonaws.com", "tells of the ends of jobs", kms)


def _problem(field: str, arn: str, region: str, kms: Any) -> Iterator[Finding]:
    if (elsewhere := arn.split(":")[3]) != region:
        yield Finding(field, f"is in {elsewhere}, but the deployment goes to {region}", f"name a key in {region}")
        return
    try:
        key = kms.describe_key(KeyId=arn)["KeyMetadata"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NotFoundException":
            raise
        yield Finding(field, f"{arn} does not exist", "name a key that exists")
        return
    if key["KeySpec"] != "SYMMETRIC_DEFAULT":
        yield Finding(field, f"is a key of {key['KeySpec']}", "name a symmetric key, of SYMMETRIC_DEFAULT")
    elif key["KeyState"] != "Enabled":
        state = _STATES.get(key["KeyState"], f"is in state {key['KeyState']}")
        yield Finding(field, state, "enable the key, or name another one")


def _closed(field: str, arn: str, service: str, why: str, kms: Any) -> Iterator[Finding]:
    """Find a policy that does not name a service at all. Its conditions are left to the deploy.

    service: the beginning of its principal, whose end differs between partitions.
    """
    try:
        policy = kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"]
    except ClientError as error:
        if error.response["Error"]["Code"] in ("AccessDeniedException", "NotFoundException"):
            return
        raise
    if service not in policy:
        name = f"{service}amazonaws.com" if service.endswith(".") else service
        problem = f"has a policy that does not name {name}, which {why}"
        yield Finding(field, problem, "add the statement of docs/encryption.md to it")

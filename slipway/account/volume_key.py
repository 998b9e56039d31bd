"""Checks the key that encrypts the machines' volumes if the deployment names none."""

from collections.abc import Iterator

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "hosting.volume_kms_key_arn"
_KEY_OF_AWS = "alias/aws/ebs"


def volume_key(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse a default key for EBS that is the account's own.

    With such a key EC2 accepts a start and then undoes it (Client.InternalError), unless the caller may create grants
    on the key. The functions may do so only for the key that the deployment names.
    """
    key = account.clients("ec2").get_ebs_default_kms_key_id()["KmsKeyId"]
    if key.endswith(_KEY_OF_AWS):
        return
    found = account.clients("kms").describe_key(KeyId=key)["KeyMetadata"]
    if found["KeyManager"] == "CUSTOMER":
        problem = f"is not set, and {account.region} encrypts volumes with a key of the account, which the "
        problem += "functions that start machines may not use"
        yield Finding(_FIELD, problem, f"set it to {found['Arn']} or another key")

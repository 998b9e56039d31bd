"""The roles of self-managed stack sets: the administration role, and the execution role in each target account."""

import json
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets.refusal import StackSetsError

_iam = ministack.internals("ministack.services.iam", "_roles")

ADMINISTRATION = "AWSCloudFormationStackSetAdministrationRole"
EXECUTION = "AWSCloudFormationStackSetExecutionRole"
_HOME = "us-east-1"  # IAM is global


def administration_role(account: str, arn: str) -> str:
    """The ARN of the administration role, by default the one with AWS's name. Raises StackSetsError."""
    arn = arn or f"arn:aws:iam::{account}:role/{ADMINISTRATION}"
    if not _trusts(account, arn, "cloudformation.amazonaws.com"):
        name = arn.rpartition("/")[2]
        message = f"Account {account} should have '{name}' role with trust relationship to CloudFormation service."
        raise StackSetsError("ValidationError", message)
    return arn


def missing_execution_role(account: str, name: str, administration: str) -> str:
    """The reason why the operation fails in a target account, "" if the execution role is usable."""
    owner = administration.split(":")[4]
    if _trusts(account, f"arn:aws:iam::{account}:role/{name}", administration, f"arn:aws:iam::{owner}:root", owner):
        return ""
    trusted = administration.rpartition("/")[2]
    return f"Account {account} should have '{name}' role with trust relationship to Role '{trusted}'."


def _trusts(account: str, arn: str, *principals: str) -> bool:
    with ministack.scope(account, _HOME):
        role: dict[str, Any] | None = _iam._roles.get(arn.rpartition("/")[2])
    if role is None or role["Arn"] != arn:
        return False
    document = role["AssumeRolePolicyDocument"]
    policy = json.loads(document) if isinstance(document, str) else document
    allowed = [each["Principal"] for each in policy["Statement"] if each["Effect"] == "Allow"]
    named = [value for each in allowed for values in each.values() for value in _listed(values)]
    return any(each in principals for each in named)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

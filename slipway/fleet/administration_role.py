"""Checks the role by which StackSets reaches the accounts of a self-managed fleet. Without it a deploy fails."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.fleets.fleet import Fleet
from slipway.shared.aws_errors import sentence

_DEFAULT = "AWSCloudFormationStackSetAdministrationRole"
_FIELD = "administration_role_arn"


def role_findings(fleet: Fleet, iam: Any) -> Iterator[Finding]:
    """Return an error if the account has no such role, or an unknown if the caller may not read roles."""
    if fleet.permission_model != "self-managed":
        return
    name = (fleet.administration_role_arn or _DEFAULT).rpartition("/")[2]
    try:
        iam.get_role(RoleName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchEntity":
            fix = 'make it, or name another (docs/fleet.md, "Self-managed permissions")'
            yield Finding(_FIELD, f"the account that deploys has no role {name}", fix, "administration-role-exists")
        else:
            problem = f"the role {name} could not be read: {sentence(error)}".rstrip(".")
            yield Finding(_FIELD, problem, "", "administration-role-exists", "unknown")

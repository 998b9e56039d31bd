"""The hooks into the emulator's IAM: what a role trusts and may do, and calls made as a role."""

import hashlib
import json
from typing import Any

from local_cloud.emulator import hooks

_iam = hooks.internals("ministack.services.iam", "_roles.get_scoped")
_iam_evaluator = hooks.internals(
    "ministack.core.iam_evaluator", "EvalContext", "_conditions_met", "_gather_role_policies", "evaluate"
)
_sts = hooks.internals("ministack.services.sts", "register_session")


def role_trusts(role_arn: str, service: str) -> bool:
    """Whether the role exists and the service, say "lambda.amazonaws.com", may assume it."""
    parts = role_arn.split(":")
    role = _iam._roles.get_scoped(parts[4], None, role_arn.rsplit("/", 1)[-1]) if len(parts) == 6 else None
    if role is None:
        return False
    document = role["AssumeRolePolicyDocument"]
    statements = (json.loads(document) if isinstance(document, str) else document)["Statement"]
    return any(_admits(statement, service) for statement in _as_list(statements))


def _admits(statement: dict[str, Any], service: str) -> bool:
    principal = statement.get("Principal", {})
    context = _iam_evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account=hooks.account_id(),
        action="sts:AssumeRole",
        resource_arn="*",
        region=hooks.region(),
        service_context={"aws:sourceaccount": hooks.account_id()},
    )
    return (
        statement["Effect"] == "Allow"
        and isinstance(principal, dict)
        and service in _as_list(principal.get("Service", []))
        and "sts:AssumeRole" in _as_list(statement.get("Action", []))
        and bool(_iam_evaluator._conditions_met(statement.get("Condition", {}), context))
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def role_may(role_arn: str, action: str, resource: str) -> bool:
    """Whether the role's policies allow the action on the resource."""
    account, role_name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    context = _iam_evaluator.EvalContext(
        principal_arn=f"arn:aws:sts::{account}:assumed-role/{role_name}/SageMaker",
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=hooks.region(),
    )
    policies = _iam_evaluator._gather_role_policies(role_name, account)
    return bool(_iam_evaluator.evaluate(context, policies).decision == "Allow")


def client_as_role(service: str, role_arn: str) -> Any:
    """A boto3 client of this emulator whose calls are checked against the role's policies."""
    # Late: the start of the cloud need not wait for boto3.
    import boto3
    from botocore.config import Config

    session = session_of_role(role_arn)
    return boto3.client(
        service,
        endpoint_url=session["AWS_ENDPOINT_URL"],
        region_name=session["AWS_REGION"],
        aws_access_key_id=session["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=session["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=session["AWS_SESSION_TOKEN"],
        config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
    )


def session_of_role(role_arn: str) -> dict[str, str]:
    """The variables with which an SDK talks to this emulator as the role."""
    account, role_name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    digest = hashlib.sha256(role_arn.encode()).hexdigest()
    key_id, secret = f"ASIA{digest[:16].upper()}", digest[16:56]
    session = {
        "Arn": f"arn:aws:sts::{account}:assumed-role/{role_name}/SageMaker",
        "UserId": f"{role_name}:SageMaker",
        "SecretAccessKey": secret,
        "SessionToken": digest,
    }
    _sts.register_session(key_id, session)
    return {
        "AWS_ENDPOINT_URL": hooks.own_endpoint_url(),
        "AWS_REGION": hooks.region(),
        "AWS_ACCESS_KEY_ID": key_id,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_SESSION_TOKEN": digest,
    }

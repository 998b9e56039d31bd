"""IAM: which services a role or a resource policy admits, what a role may do, and calls as a role."""

import functools
import hashlib
import json
import re
from contextvars import ContextVar
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type, generate_unique_names
from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "pin_request_origin")
_iam = ministack.internals("ministack.services.iam", "_policy_exists", "_roles.get_scoped")
_iam_actions = ministack.internals("ministack.core.iam_actions", "access_denied_response")
_iam_evaluator = ministack.internals(
    "ministack.core.iam_evaluator",
    "AuthError",
    "EvalContext",
    "_conditions_met",
    "_fnmatch_compile",
    "_gather_role_policies",
    "_permissions_boundary",
    "_request_origin",
    "combine_resource_policy",
    "enforce",
    "evaluate",
    "evaluate_resource_policy",
)
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_sts = ministack.internals("ministack.services.sts", "register_session")


def role_trusts(role_arn: str, service: str, conditions: dict[str, str] | None = None) -> bool:
    """Whether the role exists and a service such as "lambda.amazonaws.com" may assume it.

    conditions: the condition keys that the service sends, in lower case; None = only aws:SourceAccount.
    """
    parts = role_arn.split(":")
    role = _iam._roles.get_scoped(parts[4], None, role_arn.rsplit("/", 1)[-1]) if len(parts) == 6 else None
    if role is None:
        return False
    document = role["AssumeRolePolicyDocument"]
    statements = (json.loads(document) if isinstance(document, str) else document)["Statement"]
    context = _context_of_service(service, "sts:AssumeRole", "*", conditions or _own_account())
    return any(_admits(statement, service, context) for statement in _as_list(statements))


def _own_account() -> dict[str, str]:
    return {"aws:sourceaccount": ministack.account_id()}


def _admits(statement: dict[str, Any], service: str, context: Any) -> bool:
    principal = statement.get("Principal", {})
    return (
        statement["Effect"] == "Allow"
        and isinstance(principal, dict)
        and service in _as_list(principal.get("Service", []))
        and "sts:AssumeRole" in _as_list(statement.get("Action", []))
        and bool(_iam_evaluator._conditions_met(statement.get("Condition", {}), context))
    )


def _context_of_service(service: str, action: str, resource: str, conditions: dict[str, str]) -> Any:
    return _iam_evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account=ministack.account_id(),
        action=action,
        resource_arn=resource,
        region=ministack.region(),
        service_context=conditions,
    )


def policy_allows(policy: Any, service: str, action: str, resource: str, conditions: dict[str, str]) -> bool:
    """Whether a resource's policy lets a service such as "events.amazonaws.com" act on it.

    conditions: the condition keys that the service sends beside aws:SourceAccount, in lower case.
    """
    context = _context_of_service(service, action, resource, _own_account() | conditions)
    return bool(_iam_evaluator.evaluate_resource_policy(policy, context, service=service).decision == "Allow")


def endpoint_allows(policy: Any, caller: str, action: str, resource: str) -> bool:
    """Whether a VPC endpoint's policy lets a role's session do the action; without a policy it lets everything."""
    if not policy:
        return True
    context = _iam_evaluator.EvalContext(
        principal_arn=caller,
        principal_type="AssumedRole",
        principal_account=caller.split(":")[4],
        action=action,
        resource_arn=resource,
        region=ministack.region(),
    )
    return bool(_iam_evaluator.evaluate_resource_policy(policy, context).decision == "Allow")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def role_may(role_arn: str, action: str, resource: str) -> bool:
    """Whether the role's policies and its permissions boundary allow the action on the resource."""
    return bool(_decision(*_context_of_role(role_arn, action, resource, {})).decision == "Allow")


def role_may_use_key(role_arn: str, action: str, key_arn: str, key_policy: str, conditions: dict[str, str]) -> bool:
    """Whether a role's policies and the key's allow the action, with these condition keys in lower case."""
    context, account = _context_of_role(role_arn, action, key_arn, conditions)
    combined = _iam_evaluator.combine_resource_policy(
        _decision(context, account), context, key_policy, account, required=True
    )
    return bool(combined.decision == "Allow")


def _context_of_role(role_arn: str, action: str, resource: str, conditions: dict[str, str]) -> tuple[Any, str]:
    account, role_name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    context = _iam_evaluator.EvalContext(
        principal_arn=f"arn:aws:sts::{account}:assumed-role/{role_name}/SageMaker",
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=ministack.region(),
        service_context=conditions,
    )
    return context, account


def _decision(context: Any, account: str) -> Any:
    role_name = context.principal_arn.split("/")[1]
    policies = _iam_evaluator._gather_role_policies(role_name, account)
    limits = _iam_evaluator._permissions_boundary(_iam._roles, role_name, account)
    return _iam_evaluator.evaluate(context, policies, *limits)


def denial(headers: dict[str, str], service: str, action: str, resource: str) -> ministack.Answer | None:
    """The refusal of the request's caller if it lacks a permission beyond the first one, None if it has it."""
    denied = _iam_evaluator.enforce(
        _router.extract_access_key_id(headers, {}), action, service, ministack.region(), resource_arn=resource
    )
    if denied is None:
        return None
    principal = "" if isinstance(denied, _iam_evaluator.AuthError) else denied.principal_arn
    answer: ministack.Answer = _iam_actions.access_denied_response(
        service, action, principal, "", headers=headers, resource_arn=resource
    )
    return answer


def client_as_role(service: str, role_arn: str) -> Any:
    """A boto3 client of this emulator whose calls are checked against the role's policies."""
    # Imported late: loading boto3 would delay the start of the cloud.
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


def session_of_role(role_arn: str, session_name: str = "SageMaker") -> dict[str, str]:
    """Environment variables that make an SDK call this emulator as the role."""
    account, role_name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    digest = hashlib.sha256(f"{role_arn}/{session_name}".encode()).hexdigest()
    key_id, secret = f"ASIA{digest[:16].upper()}", digest[16:56]
    session = {
        "Arn": f"arn:aws:sts::{account}:assumed-role/{role_name}/{session_name}",
        "UserId": f"{role_name}:{session_name}",
        "SecretAccessKey": secret,
        "SessionToken": digest,
    }
    _sts.register_session(key_id, session)
    return {
        "AWS_ENDPOINT_URL": ministack.own_endpoint_url(),
        "AWS_REGION": ministack.region(),
        "AWS_ACCESS_KEY_ID": key_id,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_SESSION_TOKEN": digest,
    }


def _let_wildcards_match_line_feeds() -> None:
    """Let `*` and `?` in policies match a line feed, too, which a path parameter may hold."""
    original = _iam_evaluator._fnmatch_compile

    @functools.cache
    def compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
        found = original(pattern, ignore_case)
        return re.compile(found.pattern, found.flags | re.DOTALL)

    _iam_evaluator._fnmatch_compile = compiled


def _demand_boundary(properties: dict[str, Any]) -> None:
    arn = properties.get("PermissionsBoundary")
    if arn and not _iam._policy_exists(arn):
        raise ValueError(f"Scope ARN: {arn} does not exist or is not attachable.")


def _set_boundary(name: str, properties: dict[str, Any]) -> None:
    _iam._roles[name]["PermissionsBoundary"] = properties.get("PermissionsBoundary")


def install() -> None:
    _treat_loopback_as_tls()
    _let_wildcards_match_line_feeds()
    # IAM is global: stacks of the same name in two regions must not share roles and policies.
    for name in ("InstanceProfile", "Role"):
        generate_unique_names(f"AWS::IAM::{name}")
    extend_resource_type("AWS::IAM::Role", check=_demand_boundary, complete=_set_boundary)


def _treat_loopback_as_tls() -> None:
    """Treat calls on the loopback as TLS, so that templates can keep policies that demand it."""
    pin = _app.pin_request_origin

    def pin_request_origin(address: str, secure: bool) -> None:
        pin(address, secure or address == "127.0.0.1")

    _app.pin_request_origin = pin_request_origin
    # Work outside a request is done by an AWS service.
    _iam_evaluator._request_origin = ContextVar("request_origin", default=("127.0.0.1", True))

"""Whether a caller, a role or a service may use a key: by its state, its policy and the principal's own policies."""

from collections.abc import Mapping
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import iam

_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "enforce")
_kms = ministack.internals("ministack.services.kms", "_resolve_key")

Context = Mapping[str, str]
READ = ("kms:Decrypt",)
WRITE = ("kms:GenerateDataKey",)
READ_AND_WRITE = (*READ, *WRITE)
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
CREATE_GRANT = ("kms:CreateGrant",)
FOR_AWS = {"kms:grantisforawsresource": "true"}


def through(service: str) -> Context:
    """The condition key that a service such as "s3" sends when it uses a key for its caller."""
    return {"kms:viaservice": f"{service}.{ministack.region()}.amazonaws.com"}


def caller_may(access_key: str, key_id: str, actions: tuple[str, ...], context: Context) -> bool:
    """Whether the caller of the present request may take these actions."""
    key = _usable(key_id)
    if key is None:
        return False
    decisions = (
        _iam_evaluator.enforce(
            access_key, action, "kms", ministack.region(), resource_arn=key["Arn"], service_context=dict(context)
        )
        for action in actions
    )
    return all(denied is None for denied in decisions)


def role_may(role_arn: str, key_id: str, actions: tuple[str, ...], context: Context) -> bool:
    """Whether a role may take these actions."""
    key = _usable(key_id)
    return key is not None and all(
        iam.role_may_use_key(role_arn, action, key["Arn"], key["Policy"], dict(context)) for action in actions
    )


def service_may(service: str, key_id: str, actions: tuple[str, ...], context: Context) -> bool:
    """Whether the key's policy lets a service such as "sns.amazonaws.com" take these actions."""
    key = _usable(key_id)
    return key is not None and all(
        iam.policy_allows(key["Policy"], service, action, key["Arn"], dict(context)) for action in actions
    )


def _usable(key_id: str) -> dict[str, Any] | None:
    """The key, unless it is unknown, disabled or about to be deleted. No one may use a key of AWS such as aws/sns."""
    key: dict[str, Any] | None = _kms._resolve_key(key_id)
    return key if key and key["KeyState"] == "Enabled" else None

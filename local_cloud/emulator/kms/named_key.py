"""Keys of the user, which exist on AWS before a stack names them."""

import json
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.kms.permission import KEY_ACTIONS, READ_AND_WRITE

_kms = ministack.internals("ministack.services.kms", "_create_key", "_keys.pop")


def _put(request: dict[str, str]) -> dict[str, Any]:
    """Create the key that `put_key` asks for, unless it exists."""
    account, arn = request["account"], request["arn"]
    region, key_id = arn.split(":")[3], arn.rpartition("/")[2]
    with ministack.scope(account, region):
        if key_id not in _kms._keys:
            made = json.loads(_kms._create_key({"Policy": json.dumps(_policy(account, region))})[2])
            key = _kms._keys.pop(made["KeyMetadata"]["KeyId"])
            _kms._keys[key_id] = key | {"KeyId": key_id, "Arn": arn}
    return {}


def _policy(account: str, region: str) -> dict[str, Any]:
    """Return the policy of docs/encryption.md."""
    topics, groups = f"arn:aws:sns:{region}:{account}:*", f"arn:aws:logs:{region}:{account}:log-group:*"
    statements: tuple[tuple[dict[str, str], str | list[str], dict[str, Any]], ...] = (
        ({"AWS": f"arn:aws:iam::{account}:root"}, "kms:*", {}),
        ({"Service": "sns.amazonaws.com"}, list(READ_AND_WRITE), {"ArnLike": {"aws:SourceArn": topics}}),
        (
            {"Service": f"logs.{region}.amazonaws.com"},
            list(KEY_ACTIONS),
            {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        ),
    )
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*", "Condition": condition}
            for principal, actions, condition in statements
        ],
    }


def install() -> None:
    ministack.register_command("POST", "/_slipway/key", _put)

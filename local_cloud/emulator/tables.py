"""DynamoDB as AWS runs it where the emulator differs: settings of templates, expiry, and transactions that collide."""

import asyncio
import json
from collections import Counter
from typing import Any

from local_cloud.emulator import clock, dynamodb_hooks, hooks
from local_cloud.emulator.cloudformation_hooks import (
    extend_resource_type,
    generate_unique_names,
    replace_when_changed,
)

# About as long as AWS takes for one; the emulator itself would never have two at a time.
_TRANSACTION_IN_SECONDS = 0.005
_EXPIRY_INTERVAL_IN_SECONDS = 60.0
_WRITES = {"DeleteItem": "Key", "PutItem": "Item", "UpdateItem": "Key"}
_CONFLICT = "Transaction is ongoing for the item"

_in_transactions: Counter[str] = Counter()


async def _operate(operation: str, request: dict[str, Any], proceed: dynamodb_hooks.Proceed) -> hooks.Answer:
    if operation in _WRITES:
        key = dynamodb_hooks.key_of(request.get("TableName", ""), request.get(_WRITES[operation]) or {})
        return _error("TransactionConflictException", _CONFLICT) if _in_transactions[key or ""] else await proceed()
    if operation not in ("TransactWriteItems", "TransactGetItems"):
        return await proceed()
    keys = [_key_in_transaction(item) for item in request.get("TransactItems") or []]
    conflicts = [bool(key) and _in_transactions[key] > 0 for key in keys]
    if any(conflicts):
        return _cancelled(conflicts)
    if operation == "TransactGetItems":
        return await proceed()
    _in_transactions.update(key for key in keys if key)
    try:
        await asyncio.sleep(_TRANSACTION_IN_SECONDS)
        return await proceed()
    finally:
        _in_transactions.subtract(key for key in keys if key)


def _key_in_transaction(item: dict[str, Any]) -> str:
    for action in item.values():
        if isinstance(action, dict):
            return (
                dynamodb_hooks.key_of(action.get("TableName", ""), action.get("Item") or action.get("Key") or {}) or ""
            )
    return ""


def _cancelled(conflicts: list[bool]) -> hooks.Answer:
    conflict = {"Code": "TransactionConflict", "Message": _CONFLICT}
    reasons = [conflict if each else {"Code": "None"} for each in conflicts]
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return _error("TransactionCanceledException", message, CancellationReasons=reasons)


def _error(code: str, message: str, **more: Any) -> hooks.Answer:
    headers = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-errortype": code}
    return 400, headers, json.dumps({"__type": code, "message": message} | more).encode()


def _remove_expired_items() -> None:
    now = clock.now()
    for item in dynamodb_hooks.expiring_items():
        if item.expires_at <= now:
            item.remove()


def _complete(name: str, properties: dict[str, Any]) -> None:
    time_to_live = properties.get("TimeToLiveSpecification") or {}
    dynamodb_hooks.set_time_to_live(name, time_to_live["AttributeName"] if time_to_live.get("Enabled") else None)
    recovery = properties.get("PointInTimeRecoverySpecification") or {}
    dynamodb_hooks.set_point_in_time_recovery(name, bool(recovery.get("PointInTimeRecoveryEnabled")))
    encryption = properties.get("SSESpecification")
    dynamodb_hooks.set_encryption(name, encryption and {"Enabled": bool(encryption.get("SSEEnabled"))} | encryption)


def _refuse_protected(name: str) -> None:
    if dynamodb_hooks.table_is_protected(name):
        raise ValueError(f"Table {name} is protected against deletion. Disable deletion protection, then delete it.")


def install() -> None:
    dynamodb_hooks.operate_with(_operate)
    hooks.repeat(_remove_expired_items, max(clock.shortened(_EXPIRY_INTERVAL_IN_SECONDS), 0.2))
    generate_unique_names("AWS::DynamoDB::Table")
    replace_when_changed("AWS::DynamoDB::Table", "KeySchema", "LocalSecondaryIndexes")
    extend_resource_type(
        "AWS::DynamoDB::Table",
        complete=_complete,
        check_delete=_refuse_protected,
        forget=lambda name, _: dynamodb_hooks.forget_table(name),
    )

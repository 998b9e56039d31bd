"""DynamoDB: time to live by the cloud's clock, names and protection of tables, repeated transactions, leading keys."""

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import (
    extend_resource_type,
    generate_unique_names,
    replace_when_changed,
)
from local_cloud.emulator.core import ministack

_dynamodb = ministack.internals(
    "ministack.services.dynamodb",
    "_execute_transaction",
    "_sse_description_from_spec",
    "_tables",
    "_tags.pop",
    "_transact_write_items",
    "_update_ttl",
    "time",
)
_actions = ministack.internals("ministack.core.iam_actions", "dynamodb_service_context")


class _AsSent(dict[str, Any]):
    """A request whose items() are copies, so that MiniStack's changes leave it as it was sent."""

    def items(self) -> Any:
        return copy.deepcopy(dict(self)).items()


def _as_sent(answer: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda request: answer(_AsSent(request))


def _compare_transactions_as_sent() -> None:
    """Compare a repeated transaction with the request as it was sent: MiniStack rewrites 1.120 to 1.12 in place."""
    _dynamodb._transact_write_items = _as_sent(_dynamodb._transact_write_items)
    _dynamodb._execute_transaction = _as_sent(_dynamodb._execute_transaction)


def _tell_leading_keys() -> None:
    """Tell policies the partition key of a single item, as `dynamodb:LeadingKeys`, which MiniStack leaves out."""
    context_of = _actions.dynamodb_service_context

    def context(body: bytes) -> dict[str, Any]:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # DynamoDB refuses such a request
            request = json.loads(body)
            (key,) = (
                each for each in _dynamodb._tables[request["TableName"]]["KeySchema"] if each["KeyType"] == "HASH"
            )
            (value,) = (request.get("Key") or request["Item"])[key["AttributeName"]].values()
            return {**context_of(body), "dynamodb:LeadingKeys": [value]}
        return dict(context_of(body))

    _actions.dynamodb_service_context = context


def _complete(name: str, properties: dict[str, Any]) -> None:
    """Set the key and the time to live, which MiniStack leaves out."""
    encryption = properties.get("SSESpecification") or {}
    given = _dynamodb._sse_description_from_spec(encryption) if encryption.get("SSEEnabled") else None
    _dynamodb._tables[name]["SSEDescription"] = given
    if specification := properties.get("TimeToLiveSpecification"):
        _dynamodb._update_ttl({"TableName": name, "TimeToLiveSpecification": specification})


def _refuse_protected(name: str) -> None:
    if (_dynamodb._tables.get(name) or {}).get("DeletionProtectionEnabled"):
        raise ValueError(f"Table {name} is protected against deletion. Disable deletion protection, then delete it.")


def _forget_tags(name: str, _: dict[str, Any]) -> None:
    # MiniStack keeps the tags, so that a search by tags would find the deleted table.
    _dynamodb._tags.pop(f"arn:aws:dynamodb:{ministack.region()}:{ministack.account_id()}:table/{name}", None)


def install() -> None:
    ministack.follow_clock(_dynamodb)
    _compare_transactions_as_sent()
    _tell_leading_keys()
    generate_unique_names("AWS::DynamoDB::Table")
    replace_when_changed("AWS::DynamoDB::Table", "KeySchema", "LocalSecondaryIndexes")
    extend_resource_type(
        "AWS::DynamoDB::Table",
        complete=_complete,
        check_delete=_refuse_protected,
        forget=_forget_tags,
    )

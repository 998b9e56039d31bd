"""The hooks into the emulator's DynamoDB: settings of a table, expired items, and what surrounds an operation."""

import functools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from local_cloud.emulator import hooks

_app = hooks.internals("ministack.app", "SERVICE_HANDLERS")
_dynamodb = hooks.internals(
    "ministack.services.dynamodb",
    "_normalize_table_name",
    "_pitr_settings.pop",
    "_remove_item",
    "_sse_description_from_spec",
    "_tables.get_scoped",
    "_tags.pop",
    "_ttl_settings.all_items",
    "_update_continuous_backups",
    "_update_ttl",
)

Proceed = Callable[[], Awaitable[hooks.Answer]]
Around = Callable[[str, dict[str, Any], Proceed], Awaitable[hooks.Answer]]


def operate_with(around: Around) -> None:
    """Send every operation through around(its name, the request, proceed)."""
    original = _app.SERVICE_HANDLERS["dynamodb"]

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> hooks.Answer:
        proceed = functools.partial(original, method, path, headers, body, query)
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        return await around(headers.get("x-amz-target", "").rpartition(".")[2], request, proceed)

    _app.SERVICE_HANDLERS["dynamodb"] = handle


def key_of(table: str, item: dict[str, Any]) -> str | None:
    """Which item of the region's tables this is, by its own attributes or its key; None for one that can't be."""
    name = _dynamodb._normalize_table_name(table)
    record = _dynamodb._tables.get(name)
    if record is None:
        return None
    values = [item.get(attribute) for attribute in (record["pk_name"], record["sk_name"]) if attribute]
    return json.dumps([hooks.account_id(), hooks.region(), name, *values], sort_keys=True)


def table_is_protected(name: str) -> bool:
    return bool((_dynamodb._tables.get(name) or {}).get("DeletionProtectionEnabled"))


def set_time_to_live(name: str, attribute: str | None) -> None:
    specification = {"AttributeName": attribute or "-", "Enabled": attribute is not None}
    _update(_dynamodb._update_ttl, name, "TimeToLiveSpecification", specification)


def set_point_in_time_recovery(name: str, enabled: bool) -> None:
    specification = {"PointInTimeRecoveryEnabled": enabled}
    _update(_dynamodb._update_continuous_backups, name, "PointInTimeRecoverySpecification", specification)


def set_encryption(name: str, specification: dict[str, Any] | None) -> None:
    _dynamodb._tables[name]["SSEDescription"] = _dynamodb._sse_description_from_spec(specification)


def _update(operation: Callable[[dict[str, Any]], Any], name: str, member: str, specification: dict[str, Any]) -> None:
    status, _, body = operation({"TableName": name, member: specification})
    if status >= 400:
        raise ValueError(json.loads(body)["message"])


def forget_table(name: str) -> None:
    """Drop what the emulator keeps of a table beside the table itself."""
    arn = f"arn:aws:dynamodb:{hooks.region()}:{hooks.account_id()}:table/{name}"
    for store, key in ((_dynamodb._ttl_settings, name), (_dynamodb._pitr_settings, name), (_dynamodb._tags, arn)):
        store.pop(key, None)


class ExpiringItem(NamedTuple):
    """An item with a time to live (seconds of the epoch)."""

    expires_at: float
    remove: Callable[[], None]


def expiring_items() -> Iterator[ExpiringItem]:
    """Every item with a time to live, of every account and region."""
    for scope, setting in list(_dynamodb._ttl_settings.all_items()):
        table = _dynamodb._tables.get_scoped(*scope)
        if not table or setting.get("TimeToLiveStatus") != "ENABLED":
            continue
        for partition, by_sort in list(table["items"].items()):
            for sort, item in list(by_sort.items()):
                # Only a number counts; anything else never expires.
                if expires_at := (item.get(setting["AttributeName"]) or {}).get("N"):
                    remove = functools.partial(_dynamodb._remove_item, table, partition, sort)
                    yield ExpiringItem(float(expires_at), remove)

"""Rows of batches and files in the result table. Each change of a batch is one conditional write."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from hmac import compare_digest
from typing import Any, NamedTuple, TypeVar

from inference_api.batches.batch import Batch, Block, File
from inference_api.jobs.state import items
from inference_api.jobs.state.job import is_job_id
from inference_api.shared import errors
from inference_api.shared.attributes import number
from inference_api.shared.conditional_writes import MOST_TRIES, ConditionalWrites, TableBusyError, pause
from inference_api.shared.runtime import Runtime

_DUE = "batches"  # a shard of the index that the sweeper of jobs does not read
_MOST_IN_A_GET = 100

# The prefixes of ids, as in OpenAI's API.
_PREFIXES: dict[type, str] = {Batch: "batch_", File: "file-"}

Row = Batch | File
T = TypeVar("T", Batch, File)


class Page(NamedTuple):
    """A page of an owner's rows. has_more: whether others follow."""

    rows: list[Any]
    has_more: bool


class BatchTable:
    """Reads and writes rows of batches and files.

    Raises botocore's errors if DynamoDB fails for longer than the client retries.
    """

    def __init__(self, client: Any, name: str, runtime: Runtime) -> None:
        self._client, self._name, self._runtime = client, name, runtime
        self._writes = ConditionalWrites(client, name, runtime)

    def find_file(self, file_id: object, owner: str) -> File:
        """Return a file. Raises one ApiError 404 for an id that is unknown, malformed, expired or another caller's."""
        row = self._get(File, file_id)
        if row is None or not compare_digest(row.owner, owner):
            raise errors.file_not_found()
        return row

    def find_batch(self, batch_id: object, owner: str) -> Batch:
        """Return a batch. Raises one ApiError 404 for an id that is unknown, malformed, expired or another caller's."""
        row = self._get(Batch, batch_id)
        if row is None or not compare_digest(row.owner, owner):
            raise errors.batch_not_found()
        return row

    def batch(self, batch_id: str) -> Batch | None:
        """Return a batch of any owner; None if it does not exist or has expired."""
        return self._get(Batch, batch_id)

    def add(self, row: T) -> T:
        """Add a row and return it. If there is a row with its id, that one stays and is returned."""
        reason = self._writes.alone(self._writes.put(_to_item(row), "attribute_not_exists(pk)"))
        return _from_item(type(row), reason["Item"]) if reason and reason.get("Item") else row

    def reserve_batch_id(self, batch_id: str, owner: str, key: str, fingerprint: str, until: int) -> str:
        """Return the id for the owner's idempotency key: `batch_id`, or the id of an earlier request.

        until: when the key is free again, before the batch's row ends, so that no id is used twice. Raises ApiError 409
        if the earlier request had another body.
        """
        item = items.idempotency_key(_list_of(Batch, owner), key) | {
            "batch_id": {"S": batch_id},
            "fingerprint": {"S": fingerprint},
            "expires_at": number(until),
        }
        free, now = "attribute_not_exists(pk) OR expires_at <= :now", {":now": number(self._runtime.now())}
        reason = self._writes.alone(self._writes.put(item, free, now))
        earlier = reason.get("Item") if reason else None
        if earlier and earlier["fingerprint"]["S"] != fingerprint:
            raise errors.idempotency_key_reused()
        return str(earlier["batch_id"]["S"]) if earlier else batch_id

    def remove(self, file: File) -> None:
        """Let a file's row expire at once. Nobody can read it any more, and DynamoDB deletes it later."""
        gone = replace(file, expires_at=int(self._runtime.now()))
        held = {":end": number(file.expires_at)}
        self._writes.alone(self._writes.put(_to_item(gone), "expires_at = :end", held))

    def change(self, batch: Batch, decide: Callable[[Batch], Batch | None]) -> tuple[Batch, bool]:
        """Write `decide(row)` in place of the row. Return the row and whether this call has changed it.

        After a lost race, `decide` is called again with the winner's row. Raises TableBusyError.
        """
        current: Batch | None = batch
        for turn in range(MOST_TRIES):
            if current is None or (wanted := decide(current)) is None:
                return current or batch, False
            writer = f"{self._runtime.random.getrandbits(32):08x}"
            wanted = replace(wanted, version=current.version + 1, writer=writer)
            held = {":version": number(current.version)}
            try:
                reason = self._writes.alone(self._writes.put(_to_item(wanted), "version = :version", held))
            except TableBusyError:
                pause(self._runtime, turn)
                current = self.batch(batch.id)
                continue
            found = _from_item(Batch, reason["Item"]) if reason and reason.get("Item") else None
            # A repeated request finds what its own first try wrote.
            if reason is None or (found and found.writer == writer):
                return wanted, True
            current = found
        raise TableBusyError

    def page(
        self, kind: type[T], owner: str, limit: int, after: str | None, wanted: Callable[[T], bool], *, newest: bool
    ) -> Page:
        """Return a page of an owner's rows that are `wanted`. after: the id of the last row of the page before."""
        rows: list[T] = []
        start = self._start(kind, owner, after) if after else None
        while True:
            found, start = self._query(kind, owner, start, limit + 1, newest=newest)
            rows += [row for row in found if wanted(row)]
            if len(rows) > limit or start is None:
                return Page(rows[:limit], len(rows) > limit)

    def due(self) -> Iterator[str]:
        """Yield the ids of the batches that are due, the longest overdue first."""
        start: dict[str, Any] = {}
        while True:
            page = self._client.query(
                TableName=self._name,
                IndexName="by_due",
                KeyConditionExpression="due_shard = :shard AND due_at <= :now",
                ExpressionAttributeValues={":shard": {"S": _DUE}, ":now": number(self._runtime.now())},
                **start,
            )
            yield from (item["pk"]["S"].partition("#")[2] for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _start(self, kind: type[T], owner: str, after: str) -> dict[str, Any]:
        """Return the position of a row, after which a page begins. An expired row will do until DynamoDB deletes it."""
        item = self._item(kind, after)
        if item is None or item["owner"]["S"] != _list_of(kind, owner):
            raise errors.file_not_found() if kind is File else errors.batch_not_found()
        return {name: item[name] for name in ("pk", "owner", "listed_at")}

    def _query(
        self, kind: type[T], owner: str, start: dict[str, Any] | None, limit: int, *, newest: bool
    ) -> tuple[list[T], dict[str, Any] | None]:
        page = self._client.query(
            TableName=self._name,
            IndexName="by_owner",
            KeyConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":owner": {"S": _list_of(kind, owner)}},
            ScanIndexForward=not newest,
            Limit=min(limit, _MOST_IN_A_GET),
            **({"ExclusiveStartKey": start} if start else {}),
        )
        # The index holds only keys.
        found = {item["pk"]["S"]: item for item in self._get_all([{"pk": item["pk"]} for item in page["Items"]])}
        rows = [_from_item(kind, found[each["pk"]["S"]]) for each in page["Items"] if each["pk"]["S"] in found]
        return [row for row in rows if self._is_alive(row)], page.get("LastEvaluatedKey")

    def _get(self, kind: type[T], row_id: object) -> T | None:
        item = self._item(kind, row_id)
        row = _from_item(kind, item) if item else None
        return row if row and self._is_alive(row) else None

    def _item(self, kind: type[T], row_id: object) -> dict[str, Any] | None:
        prefix = _PREFIXES[kind]
        if not isinstance(row_id, str) or not row_id.startswith(prefix) or not is_job_id(row_id[len(prefix) :]):
            return None
        key = {"pk": {"S": f"{prefix[:-1]}#{row_id}"}}
        found: dict[str, Any] = self._client.get_item(TableName=self._name, Key=key, ConsistentRead=True)
        return found.get("Item")

    def _get_all(self, keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for turn in range(MOST_TRIES):
            if not keys:
                return found
            if turn:
                pause(self._runtime, turn)
            page = self._client.batch_get_item(RequestItems={self._name: {"Keys": keys, "ConsistentRead": True}})
            found += page["Responses"].get(self._name, [])
            keys = page.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        raise TableBusyError

    def _is_alive(self, row: Row) -> bool:
        end = row.expires_at if isinstance(row, File) else row.kept_until
        return end is None or end > self._runtime.now()


def _list_of(kind: type, owner: str) -> str:
    """Return the owner's partition of the index. Jobs have another one."""
    return f"{_PREFIXES[kind][:-1]}#{owner}"


def _to_item(row: Row) -> dict[str, Any]:
    """Return a row's item. Only open batches have `due_at`, and only rows with an end have `expires_at`."""
    item: dict[str, Any] = {
        "pk": {"S": f"{_PREFIXES[type(row)][:-1]}#{row.id}"},
        "owner": {"S": _list_of(type(row), row.owner)},
        "listed_at": {"S": f"{row.created_at:013d}#{row.id}"},
        "data": {"S": json.dumps(asdict(row), separators=(",", ":"))},
    }
    end = row.expires_at if isinstance(row, File) else row.kept_until
    if end is not None:
        item["expires_at"] = number(end)
    if isinstance(row, Batch):
        item["version"] = number(row.version)
        if row.due_at is not None:
            item |= {"due_at": number(row.due_at), "due_shard": {"S": _DUE}}
    return item


def _from_item(kind: type[T], item: Any) -> T:
    """Read a row's item. Unknown members, which another version added, are ignored."""
    data = json.loads(item["data"]["S"])
    values = {each.name: data[each.name] for each in fields(kind) if each.name in data}
    if kind is Batch:
        values["done"] = {name: Block(*block) for name, block in values["done"].items()}
        values["seen"] = {name: tuple(counts) for name, counts in values["seen"].items()}
        values["problems"] = tuple(values["problems"])
    return kind(**values)

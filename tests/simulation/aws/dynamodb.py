"""DynamoDB's operations on tables, with their checks and errors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulation.aws import expressions, table_items
from simulation.aws.errors import Refusal, invalid
from simulation.aws.expressions import Item
from simulation.aws.table import Table
from simulation.aws.table_index import Entry, TableIndex
from simulation.aws.transactions import Transactions

MAX_BATCH = 100
MAX_KEY_BYTES = 2048
PAGE_BYTES = 1024 * 1024


class _Change(NamedTuple):
    """A write to be made. refusal: the reason, if its condition does not hold."""

    table: Table
    pk: str
    new: Item
    size: int
    refusal: dict[str, Any] | None


@dataclass
class DynamoDb:
    """DynamoDB. page_bytes: the most a Query reads. unavailable_until: the end of an outage. others: other tables."""

    table: Table
    transactions: Transactions
    page_bytes: int = PAGE_BYTES
    unavailable_until: float = 0.0
    others: tuple[Table, ...] = ()

    def get_item(self, **request: Any) -> dict[str, Any]:
        item = self._named(request["TableName"]).read(
            _pk(request["Key"]), consistent=request.get("ConsistentRead", False)
        )
        return {"Item": dict(item)} if item else {}

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        """Return items in random order; sometimes only a part of them, as documented."""
        ((name, wanted),) = request["RequestItems"].items()
        table = self._named(name)
        keys, consistent = [_pk(key) for key in wanted["Keys"]], wanted.get("ConsistentRead", False)
        if not 1 <= len(keys) <= MAX_BATCH or len(set(keys)) != len(keys):
            raise invalid("No items, too many items, or keys that appear twice in a BatchGetItem call")
        chance = table.random
        read = len(keys) if chance.random() > 0.05 else chance.randrange(len(keys) + 1)
        items = [table.read(pk, consistent=consistent) for pk in keys[:read]]
        found = [dict(item) for item in items if item]
        chance.shuffle(found)
        left = {"Keys": wanted["Keys"][read:], "ConsistentRead": consistent}
        return {"Responses": {name: found}, "UnprocessedKeys": {name: left} if left["Keys"] else {}}

    def put_item(self, **request: Any) -> dict[str, Any]:
        return self._write_alone(request, self._put(request))

    def update_item(self, **request: Any) -> dict[str, Any]:
        return self._write_alone(request, self._update(request))

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        writes = [next(iter(write.items())) for write in request["TransactItems"]]
        tables = [self._named(write["TableName"]) for _, write in writes]
        pks = [_pk({"pk": write["Item" if kind == "Put" else "Key"]["pk"]}) for kind, write in writes]
        keys = [f"{table.name}/{pk}" for table, pk in zip(tables, pks, strict=True)]

        def commit() -> list[dict[str, Any] | None]:
            changes = [self._put(write) if kind == "Put" else self._update(write) for kind, write in writes]
            for change in changes:
                self._bill(change, transaction=True)
            reasons = [change.refusal for change in changes]
            if not any(reasons):
                for table in (self.table, *self.others):
                    if mine := [change[1:4] for change in changes if change.table is table]:
                        table.commit(mine)
            return reasons

        self.transactions.run(request["ClientRequestToken"], repr(request["TransactItems"]), keys, commit)
        return {}

    def query(self, **request: Any) -> dict[str, Any]:
        """Return the entries of an index in a partition, with the sort key up to a value."""
        table = self._named(request["TableName"])
        index = next((index for index in table.indexes if index.name == request["IndexName"]), None)
        if index is None or request.get("ConsistentRead"):
            raise invalid("The table does not have the specified index, or a consistent read of one was asked for")
        parsed = expressions.condition(request["KeyConditionExpression"], _names(request))
        _check_used(request, parsed.used)
        values = request["ExpressionAttributeValues"]
        given = {term.attribute: term for terms in parsed.alternatives for term in terms}
        partition, sort = given.pop(index.partition, None), given.pop(index.sort, None)
        if partition is None or partition.operator != "=" or given or (sort and sort.operator != "<="):
            raise invalid("Query condition missed key schema element, or has an operator that is not simulated")
        start = request.get("ExclusiveStartKey")
        if start and set(start) != {"pk", index.partition, index.sort}:
            raise invalid("The provided starting key is invalid")
        entries = index.read(
            values[partition.value]["S"],
            self.table.scheduler.now,
            at_most=expressions.comparable(values[sort.value])[1] if sort else None,
            forward=request.get("ScanIndexForward", True),
            after=(expressions.comparable(start[index.sort])[1], start["pk"]["S"]) if start else None,
        )
        return self._page(index, values[partition.value], entries, request.get("Limit"))

    def _page(
        self, index: TableIndex, partition: Mapping[str, str], entries: Iterable[Entry], limit: int | None
    ) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        taken, more = 0, False
        for sort, pk in entries:
            # A full page has a LastEvaluatedKey even if no item follows.
            more = len(found) == limit or taken >= self.page_bytes
            if more:
                break
            kind = "S" if isinstance(sort, str) else "N"
            found.append({"pk": {"S": pk}, index.partition: dict(partition), index.sort: {kind: str(sort)}})
            taken += table_items.size(found[-1])
        more = more or len(found) == limit
        self.table.units.read(taken, consistent=False)
        page: dict[str, Any] = {"Items": found, "Count": len(found), "ScannedCount": len(found)}
        return page | ({"LastEvaluatedKey": dict(found[-1])} if found and more else {})

    def _write_alone(self, request: Mapping[str, Any], change: _Change) -> dict[str, Any]:
        if f"{change.table.name}/{change.pk}" in self.transactions.held:
            raise Refusal("TransactionConflictException", "Transaction is ongoing for the item")
        self._bill(change)
        if change.refusal:
            members = {"Item": change.refusal["Item"]} if "Item" in change.refusal else {}
            raise Refusal("ConditionalCheckFailedException", "The conditional request failed", **members)
        before = change.table.items.get(change.pk)
        change.table.commit([change[1:4]])
        shown = {"ALL_OLD": before, "ALL_NEW": change.table.items.get(change.pk)}.get(request.get("ReturnValues", ""))
        return {"Attributes": table_items.copied(shown)} if shown else {}

    def _put(self, request: Mapping[str, Any]) -> _Change:
        item = table_items.copied(request["Item"])
        pk = _pk({"pk": item.get("pk", {})})
        return self._change(request, pk, item)

    def _update(self, request: Mapping[str, Any]) -> _Change:
        pk, values = _pk(request["Key"]), request.get("ExpressionAttributeValues", {})
        new = table_items.copied(self._named(request["TableName"]).items.get(pk) or request["Key"])
        parsed = expressions.update(request["UpdateExpression"], _names(request))
        for verb, attribute, value in parsed.actions:
            if verb == "REMOVE":
                new.pop(attribute, None)
            elif verb == "SET":
                new[attribute] = dict(values[value])
            elif "SS" in values[value]:
                _change_set(new, verb, attribute, values[value]["SS"])
            else:
                total = float(new.get(attribute, {"N": "0"})["N"]) + float(values[value]["N"])
                new[attribute] = {"N": f"{total:g}" if total % 1 else str(int(total))}
        return self._change(request, pk, new, parsed.used)

    def _change(self, request: Mapping[str, Any], pk: str, new: Item, used: frozenset[str] = frozenset()) -> _Change:
        size, table = table_items.checked_size(new), self._named(request["TableName"])
        old, text = table.items.get(pk), request.get("ConditionExpression")
        condition = expressions.condition(text, _names(request)) if text else None
        _check_used(request, used | condition.used if condition else used)
        if condition is None or condition.holds(old or {}, request.get("ExpressionAttributeValues", {})):
            return _Change(table, pk, new, size, None)
        shown = old and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        found = {"Item": table_items.copied(old)} if old and shown else {}
        return _Change(
            table, pk, new, size, {"Code": "ConditionalCheckFailed", "Message": "The condition failed"} | found
        )

    def _bill(self, change: _Change, *, transaction: bool = False) -> None:
        table = change.table
        table.units.write(max(table.size(change.pk), change.size), transaction=transaction)

    def _named(self, name: str) -> Table:
        table = next((table for table in (self.table, *self.others) if table.name == name), None)
        if table is None:
            raise Refusal("ResourceNotFoundException", "Requested resource not found")
        if table.scheduler.now < self.unavailable_until:
            raise Refusal("ThrottlingException", "Throughput exceeds the current capacity of your table or index")
        return table


def _change_set(item: dict[str, Any], verb: str, attribute: str, texts: list[str]) -> None:
    """Add to a set, or remove from it. An empty set is not stored as an attribute."""
    before = set(item.pop(attribute, {"SS": []})["SS"])
    after = before | set(texts) if verb == "ADD" else before - set(texts)
    if after:
        item[attribute] = {"SS": sorted(after)}


def _pk(key: Mapping[str, Any]) -> str:
    pk = key["pk"].get("S") if set(key) == {"pk"} else None
    if not pk or len(pk.encode()) > MAX_KEY_BYTES:
        raise invalid("The provided key element does not match the schema, or is too long")
    return str(pk)


def _names(request: Mapping[str, Any]) -> expressions.Names:
    return tuple(sorted(request.get("ExpressionAttributeNames", {}).items()))


def _check_used(request: Mapping[str, Any], used: frozenset[str]) -> None:
    given = {*request.get("ExpressionAttributeNames", {}), *request.get("ExpressionAttributeValues", {})}
    if used != given:
        raise invalid(f"Names or values that are unused in expressions, or not defined: {sorted(used ^ given)}")

"""The simulated table refuses, isolates, delays and bills as DynamoDB's documentation describes."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.table import Lags, Table
from simulation.aws.table_index import TableIndex
from simulation.aws.transactions import Transactions
from simulation.runtime.scheduler import Scheduler

Do = Callable[..., Any]


@pytest.fixture
def database() -> DynamoDb:
    scheduler = Scheduler(1_000_000.0)
    lags = Lags(share_of_stale_reads=0, index=1.0, share_of_slow_index=0)
    table = Table("jobs", [TableIndex("by_due", "shard", "due_at")], scheduler, Random(1), lags)
    return DynamoDb(table, Transactions(scheduler, Random(1)))


def key(pk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}}


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def put(database: DynamoDb, pk: str, **attributes: Any) -> None:
    database.put_item(TableName="jobs", Item=key(pk) | attributes)


def refusal(work: Callable[[], Any]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        work()
    return refused.value


def test_a_set_has_each_text_once_and_is_gone_when_it_is_empty(database: DynamoDb) -> None:
    def change(expression: str, *texts: str, condition: str | None = None, most: int = 0) -> None:
        values: dict[str, Any] = {":texts": {"SS": list(texts)}} | ({":most": number(most)} if condition else {})
        more = {"ConditionExpression": condition} if condition else {}
        database.update_item(
            TableName="jobs",
            Key=key("a"),
            UpdateExpression=expression,
            ExpressionAttributeValues=values,
            **more,
        )

    change("ADD colours :texts, fruits :texts", "x", "y")
    change("ADD colours :texts", "y", "z", condition="size(colours) < :most", most=3)
    assert database.table.items["a"] == key("a") | {"colours": {"SS": ["x", "y", "z"]}, "fruits": {"SS": ["x", "y"]}}
    full = refusal(lambda: change("ADD colours :texts", "q", condition="size(colours) < :most", most=3))
    assert full.code == "ConditionalCheckFailedException"
    missing = refusal(lambda: change("ADD colours :texts", "q", condition="size(nothing) < :most", most=3))
    assert missing.code == "ConditionalCheckFailedException"
    change("DELETE colours :texts, fruits :texts", "x", "y", "never there")
    assert database.table.items["a"] == key("a") | {"colours": {"SS": ["z"]}}


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        ("attribute_not_exists(pk)", {}, False),
        ("attribute_exists(pk)", {}, True),
        ("attribute_exists(nothing)", {}, False),
        ("version = :v", {":v": number(7)}, True),
        ("version = :v", {":v": {"S": "7"}}, False),
        ("version <= :v", {":v": number(7)}, True),
        ("nothing = :v", {":v": number(7)}, False),
        ("attribute_not_exists(nothing) AND version = :v", {":v": number(7)}, True),
        ("attribute_not_exists(pk) OR version = :v", {":v": number(7)}, True),
        ("attribute_not_exists(pk) AND version = :v OR version = :v", {":v": number(7)}, True),
    ],
)
def test_a_write_is_made_only_if_its_condition_holds(
    database: DynamoDb, condition: str, values: dict[str, Any], holds: bool
) -> None:
    put(database, "a", version=number(7))
    request = {"TableName": "jobs", "Item": key("a") | {"new": {"BOOL": True}}, "ConditionExpression": condition}
    request |= {"ExpressionAttributeValues": values} if values else {}
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    if holds:
        database.put_item(**request)
        assert "new" in database.table.items["a"]
    else:
        refused = refusal(lambda: database.put_item(**request))
        assert refused.code == "ConditionalCheckFailedException"
        assert refused.members == {"Item": key("a") | {"version": number(7)}}
        assert "new" not in database.table.items["a"]


@pytest.mark.parametrize(
    ("text", "names", "values"),
    [
        ("owner = :v", {}, {":v": number(1)}),  # a reserved word
        ("#o = :v", {}, {":v": number(1)}),
        ("#o = :v", {"#o": "owner"}, {}),
        ("#o = :v", {"#o": "owner"}, {":v": number(1), ":unused": number(1)}),
        ("version == :v", {}, {":v": number(1)}),
        ("version = :v AND", {}, {":v": number(1)}),
        ("version = 7", {}, {}),
    ],
)
def test_an_invalid_expression_is_refused(
    database: DynamoDb, text: str, names: dict[str, str], values: dict[str, Any]
) -> None:
    request = {"TableName": "jobs", "Item": key("a"), "ConditionExpression": text}
    request |= {"ExpressionAttributeNames": names} if names else {}
    request |= {"ExpressionAttributeValues": values} if values else {}
    assert refusal(lambda: database.put_item(**request)).code == "ValidationException"


def test_an_update_creates_the_item_or_adds_to_it(database: DynamoDb) -> None:
    for amount in (3, -1):
        database.update_item(
            TableName="jobs",
            Key=key("counter"),
            UpdateExpression="ADD #n :amount SET expires_at = :at",
            ExpressionAttributeNames={"#n": "open"},
            ExpressionAttributeValues={":amount": number(amount), ":at": number(2_000_000)},
        )
    assert database.table.items["counter"] == key("counter") | {"open": number(2), "expires_at": number(2_000_000)}


def test_an_update_removes_an_attribute_and_gives_the_item_as_it_was(database: DynamoDb) -> None:
    put(database, "a", version=number(7), left=number(1))
    answer = database.update_item(
        TableName="jobs",
        Key=key("a"),
        UpdateExpression="ADD version :one REMOVE #left",
        ExpressionAttributeNames={"#left": "left"},
        ExpressionAttributeValues={":one": number(1)},
        ReturnValues="ALL_OLD",
    )
    assert answer["Attributes"] == key("a") | {"version": number(7), "left": number(1)}
    assert database.table.items["a"] == key("a") | {"version": number(8)}


def transact(database: DynamoDb, token: str, *pks: str, condition: str | None = None) -> None:
    extra = {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if condition else {}
    writes = [{"Put": {"TableName": "jobs", "Item": key(pk)} | extra} for pk in pks]
    database.table.scheduler.finish(
        lambda: database.transact_write_items(TransactItems=writes, ClientRequestToken=token)
    )


def test_a_transaction_writes_all_or_nothing(database: DynamoDb) -> None:
    put(database, "b", version=number(1))
    refused = refusal(lambda: transact(database, "t1", "a", "b", condition="attribute_not_exists(pk)"))
    assert refused.code == "TransactionCanceledException"
    first, second = refused.members["CancellationReasons"]
    assert (first["Code"], second["Code"]) == ("None", "ConditionalCheckFailed")
    assert second["Item"] == key("b") | {"version": number(1)}
    assert set(database.table.items) == {"b"}


def test_a_transaction_repeated_with_its_token_writes_once(database: DynamoDb) -> None:
    transact(database, "t1", "a", condition="attribute_not_exists(pk)")
    transact(database, "t1", "a", condition="attribute_not_exists(pk)")
    assert refusal(lambda: transact(database, "t1", "other")).code == "IdempotentParameterMismatchException"
    database.table.scheduler.run(601)
    assert refusal(lambda: transact(database, "t1", "a", condition="attribute_not_exists(pk)"))


def test_writes_of_items_in_a_transaction_are_refused(database: DynamoDb) -> None:
    scheduler, refused = database.table.scheduler, []

    def another(work: Callable[[], Any]) -> None:
        refused.append(refusal(work))

    writes = [{"Put": {"TableName": "jobs", "Item": key("a")}}]
    scheduler.spawn(lambda: database.transact_write_items(TransactItems=writes, ClientRequestToken="t1"))
    scheduler.spawn(lambda: another(lambda: put(database, "a")), 0.001)
    scheduler.spawn(
        lambda: another(lambda: database.transact_write_items(TransactItems=writes, ClientRequestToken="t2")), 0.001
    )
    scheduler.run()
    assert [each.code for each in refused] == ["TransactionConflictException", "TransactionCanceledException"]
    assert refused[1].members["CancellationReasons"] == [{"Code": "TransactionConflict"}]
    put(database, "a")  # the transaction has ended


def test_a_function_that_dies_in_a_transaction_writes_nothing(database: DynamoDb) -> None:
    writes = [{"Put": {"TableName": "jobs", "Item": key("a")}}]
    scheduler = database.table.scheduler
    task = scheduler.spawn(lambda: database.transact_write_items(TransactItems=writes, ClientRequestToken="t1"))
    scheduler.call_later(0.001, task.kill)
    scheduler.run()
    assert not database.table.items
    put(database, "a")


def due(database: DynamoDb, **more: Any) -> dict[str, Any]:
    return database.query(
        TableName="jobs",
        IndexName="by_due",
        KeyConditionExpression="#s = :shard AND due_at <= :now",
        ExpressionAttributeNames={"#s": "shard"},
        ExpressionAttributeValues={":shard": {"S": "0"}, ":now": number(20)},
        **more,
    )


def ids(page: dict[str, Any]) -> list[str]:
    return [item["pk"]["S"] for item in page["Items"]]


def test_an_index_follows_its_table_late_and_in_order(database: DynamoDb) -> None:
    for name, due_at in (("late", 19), ("soon", 3), ("later", 21)):
        put(database, name, shard={"S": "0"}, due_at=number(due_at))
    put(database, "not due")
    assert ids(due(database)) == []
    database.table.scheduler.run(30)
    assert ids(due(database)) == ["soon", "late"]
    put(database, "soon", shard={"S": "0"}, due_at=number(20))
    put(database, "late")
    database.table.scheduler.run(30)
    assert ids(due(database)) == ["soon"]


def test_an_eventually_consistent_read_may_show_an_earlier_version(database: DynamoDb) -> None:
    database.table.lags.share_of_stale_reads = 1.0
    put(database, "a", version=number(1))
    database.table.scheduler.run(60)
    put(database, "a", version=number(2))
    request = {"TableName": "jobs", "Key": key("a")}
    assert database.get_item(**request)["Item"]["version"] == number(1)
    assert database.get_item(**request, ConsistentRead=True)["Item"]["version"] == number(2)
    database.table.scheduler.run(60)
    assert database.get_item(**request)["Item"]["version"] == number(2)


def test_expired_items_are_deleted_within_two_days(database: DynamoDb) -> None:
    for position in range(20):
        put(database, f"item {position}", expires_at=number(1_000_100))
    put(database, "item 0")  # without an expiry it stays
    database.table.scheduler.run(100)
    assert len(database.table.items) == 20
    database.table.scheduler.run(24 * 3600)
    assert 1 < len(database.table.items) < 20
    database.table.scheduler.run(24 * 3600)
    assert set(database.table.items) == {"item 0"}


def test_units_are_counted_as_they_are_billed(database: DynamoDb) -> None:
    units = database.table.units
    put(database, "a", text={"S": "x" * 2000}, shard={"S": "0"}, due_at=number(1))
    assert (units.writes, units.index_writes) == (2, 1)
    put(database, "a", shard={"S": "0"}, due_at=number(2))  # the larger of before and after; an entry moves
    assert (units.writes, units.index_writes) == (4, 3)
    transact(database, "t1", "b")
    assert units.writes == 6
    database.get_item(TableName="jobs", Key=key("a"))
    database.get_item(TableName="jobs", Key=key("a"), ConsistentRead=True)
    assert units.reads == 1.5

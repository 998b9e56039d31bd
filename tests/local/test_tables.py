"""DynamoDB behaves as on AWS: transactions that collide, indexes, expiry, and the settings of templates."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.small_stacks import REGION, arn, create, function, resource, role

TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "due_shard", "AttributeType": "S"},
        {"AttributeName": "due_at", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_due",
            "KeySchema": [
                {"AttributeName": "due_shard", "KeyType": "HASH"},
                {"AttributeName": "due_at", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    "SSESpecification": {"SSEEnabled": True},
    "Tags": [{"Key": "slipway:deployment", "Value": "tables"}],
    "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
}
Item = dict[str, dict[str, str]]


class Table:
    """A deployed table and a client of it."""

    def __init__(self, cloud: LocalCloud, name: str) -> None:
        self.client, self.name = cloud.client("dynamodb", region=REGION), name

    def put(self, item: Item, **more: Any) -> None:
        self.client.put_item(TableName=self.name, Item=item, **more)

    def get(self, key: str) -> Item | None:
        item: Item | None = self.client.get_item(TableName=self.name, Key={"pk": {"S": key}}).get("Item")
        return item

    def count_up(self, key: str) -> dict[str, Any]:
        """One action of a transaction: ADD 1 to a counter."""
        expression = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        return {"Update": {"TableName": self.name, "Key": {"pk": {"S": key}}} | expression}

    def transact(self, *actions: dict[str, Any]) -> None:
        self.client.transact_write_items(TransactItems=list(actions))


@pytest.fixture(scope="module")
def table(bare_cloud: LocalCloud) -> Table:
    return Table(bare_cloud, create(bare_cloud, "tables", {"Table": resource("DynamoDB::Table", TABLE)})["Table"])


def error_of(call: Callable[[], Any]) -> dict[str, Any]:
    """The error that a call must end with, its code beside its other members."""
    with pytest.raises(ClientError) as caught:
        call()
    answer: dict[str, Any] = caught.value.response
    return answer | {"Code": answer["Error"]["Code"]}


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        call()
    except ClientError as error:
        answer: dict[str, Any] = error.response
        return answer | {"Code": answer["Error"]["Code"]}
    return {"Code": ""}


def test_of_two_transactions_on_one_item_at_a_time_one_is_cancelled(table: Table) -> None:
    def count(number: int) -> dict[str, Any]:
        return outcome(lambda: table.transact(table.count_up(f"own-{number}"), table.count_up("shared")))

    done, cancelled, sent = 0, list[dict[str, Any]](), 0
    with ThreadPoolExecutor(8) as pool:
        while not cancelled and sent < 400:  # on a slow machine they may come one after another
            outcomes = list(pool.map(count, range(sent, sent + 8)))
            sent += 8
            done += sum(each["Code"] == "" for each in outcomes)
            cancelled += [each for each in outcomes if each["Code"] == "TransactionCanceledException"]
    assert cancelled
    assert done + len(cancelled) == sent
    for each in cancelled:
        assert [reason["Code"] for reason in each["CancellationReasons"]] == ["None", "TransactionConflict"]
    counted = table.get("shared") or {}
    assert counted["n"] == {"N": str(done)}
    assert sum(table.get(f"own-{number}") is not None for number in range(sent)) == done


def test_a_plain_write_to_an_item_in_a_transaction_is_refused(table: Table) -> None:
    def put(number: int) -> str:
        return str(outcome(lambda: table.put({"pk": {"S": "contended"}, "n": {"N": str(number)}}))["Code"])

    def transact(number: int) -> str:
        return str(outcome(lambda: table.transact(table.count_up("contended")))["Code"])

    with ThreadPoolExecutor(8) as pool:
        codes = {code for number in range(40) for code in pool.map(lambda do, n=number: do(n), [transact, put, put])}
    assert "TransactionConflictException" in codes
    assert codes <= {"", "TransactionConflictException", "TransactionCanceledException"}


def test_transactions_on_different_items_do_not_collide(table: Table) -> None:
    with ThreadPoolExecutor(8) as pool:
        calls = pool.map(lambda number: outcome(lambda: table.transact(table.count_up(f"apart-{number}"))), range(8))
    assert {each["Code"] for each in calls} == {""}


def test_a_transaction_is_done_as_a_whole_or_not_at_all_and_tells_the_old_item(table: Table) -> None:
    table.put({"pk": {"S": "row"}, "version": {"N": "3"}})
    check = {"ConditionExpression": "version = :read", "ExpressionAttributeValues": {":read": {"N": "2"}}}
    put = {"TableName": table.name, "Item": {"pk": {"S": "row"}}, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    error = error_of(lambda: table.transact(table.count_up("beside"), {"Put": put | check}))
    assert [reason["Code"] for reason in error["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert error["CancellationReasons"][1]["Item"] == {"pk": {"S": "row"}, "version": {"N": "3"}}
    assert table.get("beside") is None


def test_a_refused_write_tells_the_old_item(table: Table) -> None:
    table.put({"pk": {"S": "told"}, "version": {"N": "1"}})
    condition = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    error = error_of(lambda: table.put({"pk": {"S": "told"}}, **condition))
    assert (error["Code"], error["Item"]["version"]) == ("ConditionalCheckFailedException", {"N": "1"})


def test_an_index_holds_only_items_with_both_of_its_keys_and_only_keys(table: Table) -> None:
    for key, due in (("due", {"N": "5"}), ("later", {"N": "50"}), ("ended", None)):
        item = {"pk": {"S": key}, "due_shard": {"S": "s1"}, "other": {"S": "x"}}
        table.put(item | ({"due_at": due} if due else {}))
    query = {
        "TableName": table.name,
        "IndexName": "by_due",
        "KeyConditionExpression": "due_shard = :s AND due_at <= :now",
        "ExpressionAttributeValues": {":s": {"S": "s1"}, ":now": {"N": "10"}},
    }
    assert table.client.query(**query)["Items"] == [
        {"pk": {"S": "due"}, "due_shard": {"S": "s1"}, "due_at": {"N": "5"}}
    ]
    assert error_of(lambda: table.client.query(**query, ConsistentRead=True))["Code"] == "ValidationException"


def test_a_batch_get_finds_what_is_there(table: Table) -> None:
    table.put({"pk": {"S": "here"}})
    keys = [{"pk": {"S": "here"}}, {"pk": {"S": "nowhere"}}]
    answer = table.client.batch_get_item(RequestItems={table.name: {"Keys": keys}})
    assert (answer["Responses"], answer["UnprocessedKeys"]) == ({table.name: [{"pk": {"S": "here"}}]}, {})


def clock_of_functions(cloud: LocalCloud) -> int:
    """What a function takes for the time, in seconds of the epoch."""
    source = "import time\ndef handler(event, context): return int(time.time())"
    resources = {"Role": role([]), "Function": function(source)}
    name = create(cloud, "clock", resources)["Function"]
    return int(cloud.client("lambda", region=REGION).invoke(FunctionName=name)["Payload"].read())


def test_an_item_goes_when_its_time_to_live_is_over_on_the_clock_of_the_cloud(
    bare_cloud: LocalCloud, table: Table
) -> None:
    started = time.time()
    now = clock_of_functions(bare_cloud)
    table.put({"pk": {"S": "short"}, "expires_at": {"N": str(now + 90)}})
    table.put({"pk": {"S": "long"}, "expires_at": {"N": str(now + 36_000)}})
    # Not long past: the reaper of the emulator itself, which looks once a minute by the real time, takes text too.
    table.put({"pk": {"S": "text"}, "expires_at": {"S": str(now + 90)}})
    deadline = time.monotonic() + 60
    while table.get("short"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert time.time() - started > 2.9  # 90 s at a clock 30 times as fast
    assert table.get("long")
    assert table.get("text")


def test_the_settings_of_the_template_are_those_of_the_table(table: Table) -> None:
    backups = table.client.describe_continuous_backups(TableName=table.name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert table.client.describe_table(TableName=table.name)["Table"]["SSEDescription"]["Status"] == "ENABLED"
    tags = table.client.list_tags_of_resource(ResourceArn=arn("dynamodb", f"table/{table.name}"))["Tags"]
    assert {"Key": "slipway:deployment", "Value": "tables"} in tags

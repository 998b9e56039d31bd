"""SQS and Lambda's event sources behave as on AWS: order, delays, retries, permissions, promptness."""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.small_stacks import (
    REGION,
    Resources,
    StackFailedError,
    arn_of,
    create,
    function,
    resource,
    role,
    statement,
)

CONSUME = statement(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"])
# A body is what to do with its message; the function notes each delivery in a table.
WORKER = """
import json, threading, boto3
from datetime import datetime
table = boto3.client("dynamodb")
sqs = boto3.client("sqs")
def note(record, moment):
    # Not `time`, which is the cloud's own clock in functions.
    now = str(datetime.now().timestamp())
    item = {{"pk": f"{{moment}} {{record['messageId']}} {{now}}", "body": record["body"], "moment": moment}}
    typed = {{name: {{"S": value}} for name, value in item.items()}} | {{"at": {{"N": now}}}}
    table.put_item(TableName="{table}", Item=typed)
def handler(event, context):
    failed = []
    for record in event["Records"]:
        todo = json.loads(record["body"])
        note(record, "start")
        threading.Event().wait(todo.get("sleep", 0))
        if "visibility" in todo:
            url = "https://sqs/" + record["eventSourceARN"].split(":")[4] + "/" + record["eventSourceARN"].split(":")[5]
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=record["receiptHandle"],
                                          VisibilityTimeout=todo["visibility"])
        note(record, "end")
        if todo.get("crash"):
            raise ValueError("boom")
        if todo.get("fail"):
            failed.append({{"itemIdentifier": record["messageId"]}})
    return {{"batchItemFailures": failed}}
"""


@dataclass
class Worker:
    """A deployed queue with its worker and its dead-letter queue."""

    cloud: LocalCloud
    table: str
    queue: str
    dead_letters: str

    def send(self, **todo: Any) -> None:
        message = {"QueueUrl": self.queue, "MessageBody": json.dumps(todo)}
        self.cloud.client("sqs", region=REGION).send_message(**message)

    def deliveries(self, moment: str = "start") -> list[tuple[dict[str, Any], float]]:
        """What was delivered and when, in order."""
        items = self.cloud.client("dynamodb", region=REGION).scan(TableName=self.table)["Items"]
        found = [item for item in items if item["moment"]["S"] == moment]
        return sorted(
            ((json.loads(each["body"]["S"]), float(each["at"]["N"])) for each in found), key=lambda each: each[1]
        )

    def wait_for(self, number: int, of: Callable[[dict[str, Any]], bool], moment: str = "start") -> list[float]:
        """The moments of so many deliveries; fails after 300 s."""
        deadline = time.monotonic() + 300
        while len(found := [at for todo, at in self.deliveries(moment) if of(todo)]) < number:
            assert time.monotonic() < deadline, f"{len(found)} of {number} deliveries: {self.deliveries(moment)}"
            time.sleep(0.02)
        return found


def worker_stack(table: str, *, statements: list[dict[str, Any]], visibility: int = 60, **mapping: Any) -> Resources:
    queue = {
        "VisibilityTimeout": visibility,
        "RedrivePolicy": {"deadLetterTargetArn": arn_of("Dead"), "maxReceiveCount": 2},
    }
    grants = [statement(["dynamodb:PutItem", "sqs:ChangeMessageVisibility"]), *statements]
    given = {"FunctionName": {"Ref": "Worker"}, "EventSourceArn": arn_of("Queue")}
    return {
        "Role": role(grants),
        "Worker": function(WORKER.format(table=table)),
        "Dead": resource("SQS::Queue"),
        "Queue": resource("SQS::Queue", queue),
        "Table": resource(
            "DynamoDB::Table",
            {
                "TableName": table,
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            },
        ),
        "Mapping": resource(
            "Lambda::EventSourceMapping",
            given
            | {"BatchSize": 1, "FunctionResponseTypes": ["ReportBatchItemFailures"]}
            | {"ScalingConfig": {"MaximumConcurrency": 2}}
            | mapping,
        ),
    }


def deploy_worker(cloud: LocalCloud, name: str, **mapping: Any) -> Worker:
    ids = create(cloud, name, worker_stack(f"{name}-deliveries", statements=[CONSUME], **mapping))
    return Worker(cloud, ids["Table"], ids["Queue"], ids["Dead"])


@pytest.fixture(scope="module")
def worker(bare_cloud: LocalCloud) -> Worker:
    return deploy_worker(bare_cloud, "worker")


@pytest.fixture
def plain_queue(bare_cloud: LocalCloud, request: pytest.FixtureRequest) -> Iterator[str]:
    """A queue without a worker."""
    sqs = bare_cloud.client("sqs", region=REGION)
    url: str = sqs.create_queue(QueueName=f"plain-{time.time_ns()}")["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


def test_a_message_reaches_a_warm_worker_in_tens_of_milliseconds(worker: Worker) -> None:
    worker.send(warm="up")
    worker.wait_for(1, lambda todo: "warm" in todo)
    delays, scans = [], []
    for number in range(9):
        sent = time.time()
        worker.send(prompt=number)
        (at,) = worker.wait_for(1, lambda todo, number=number: todo.get("prompt") == number)  # type: ignore[misc]
        delays.append(at - sent)
        started = time.time()
        worker.deliveries()
        scans.append(time.time() - started)
    # A busy machine makes every call slow; a poller that sleeps would show on an idle one too.
    assert sorted(delays)[2] < 0.1 + 5 * statistics.median(scans), (delays, scans)


def test_no_more_batches_run_than_the_mapping_allows(worker: Worker) -> None:
    def most_at_once(name: str) -> int:
        for _ in range(6):
            worker.send(busy=name, sleep=1)
        ends = worker.wait_for(6, lambda todo: todo.get("busy") == name, "end")
        starts = worker.wait_for(6, lambda todo: todo.get("busy") == name)
        running = [sum(start <= moment for start in starts) - sum(end < moment for end in ends) for moment in starts]
        return max(running)

    # A second process that starts slowly may come when all is done.
    found = [most_at_once("first")]
    while max(found) < 2 and len(found) < 3:
        found.append(most_at_once(f"again-{len(found)}"))
    assert max(found) == 2


def test_only_what_a_batch_reports_as_failed_is_delivered_again(bare_cloud: LocalCloud) -> None:
    worker = deploy_worker(bare_cloud, "batches", BatchSize=10, MaximumBatchingWindowInSeconds=15)
    for todo in ({"n": 1}, {"n": 2, "fail": True}, {"n": 3}):
        worker.send(**todo)
    for number, times in ((1, 1), (2, 2), (3, 1)):
        worker.wait_for(times, lambda todo, number=number: todo["n"] == number)  # type: ignore[misc]
    counted = sorted(todo["n"] for todo, _ in worker.deliveries())
    assert counted == [1, 2, 2, 3]


def test_a_batch_waits_for_more_messages_up_to_its_window(bare_cloud: LocalCloud) -> None:
    worker = deploy_worker(bare_cloud, "windowed", BatchSize=3, MaximumBatchingWindowInSeconds=150)
    started = time.time()
    worker.send(n=1)
    (first,) = worker.wait_for(1, lambda todo: todo["n"] == 1)
    assert 4.9 < first - started < 60  # 150 s at a clock 30 times as fast

    def seconds_of_a_full_batch(number: int) -> float:
        for _ in range(3):
            worker.send(n=number)
        full = time.time()
        return max(worker.wait_for(3, lambda todo: todo["n"] == number)) - full

    # At once, not when the window ends; this machine may pause as long as that, but not each time.
    assert any(seconds_of_a_full_batch(number) < 4.5 for number in (2, 3, 4))


def test_what_fails_too_often_goes_to_the_dead_letter_queue(worker: Worker) -> None:
    sent = time.time()
    worker.send(poison=True, fail=True)
    sqs = worker.cloud.client("sqs", region=REGION)
    deadline = time.monotonic() + 300
    while not (dead := sqs.receive_message(QueueUrl=worker.dead_letters, WaitTimeSeconds=1).get("Messages")):
        assert time.monotonic() < deadline
    assert json.loads(dead[0]["Body"]) == {"poison": True, "fail": True}
    _, second = worker.wait_for(2, lambda todo: "poison" in todo)
    assert second - sent > 1.9  # the visibility timeout of 60 s at a clock 30 times as fast


def test_a_crashed_batch_comes_back_after_the_visibility_timeout(worker: Worker) -> None:
    sent = time.time()
    worker.send(crashing=True, crash=True)
    _, second = worker.wait_for(2, lambda todo: "crashing" in todo)
    assert 1.9 < second - sent < 40


def test_a_function_can_let_its_message_come_back_earlier(bare_cloud: LocalCloud) -> None:
    worker = deploy_worker(bare_cloud, "eager", visibility=600)
    worker.send(eager=True, visibility=15, fail=True)
    first, second = worker.wait_for(2, lambda todo: "eager" in todo)
    assert 0.4 < second - first < 15


def test_a_delayed_message_is_counted_apart(bare_cloud: LocalCloud, plain_queue: str) -> None:
    sqs = bare_cloud.client("sqs", region=REGION)
    sqs.send_message(QueueUrl=plain_queue, MessageBody="later", DelaySeconds=900)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
    counts = sqs.get_queue_attributes(QueueUrl=plain_queue, AttributeNames=names)["Attributes"]
    assert counts == {"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "1"}


def test_a_delayed_message_arrives_when_its_delay_is_over(worker: Worker) -> None:
    sqs, sent = worker.cloud.client("sqs", region=REGION), time.time()
    sqs.send_message(QueueUrl=worker.queue, MessageBody=json.dumps({"late": True}), DelaySeconds=30)
    (arrived,) = worker.wait_for(1, lambda todo: "late" in todo)
    assert 1 <= arrived - sent < 20  # 30 s at a clock 30 times as fast


def test_messages_in_flight_are_counted_apart(bare_cloud: LocalCloud, plain_queue: str) -> None:
    sqs = bare_cloud.client("sqs", region=REGION)
    for body in "ab":
        sqs.send_message(QueueUrl=plain_queue, MessageBody=body)
    sqs.receive_message(QueueUrl=plain_queue)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counts = sqs.get_queue_attributes(QueueUrl=plain_queue, AttributeNames=names)["Attributes"]
    assert list(counts.values()) == ["1", "1"]


def test_a_receive_prefers_the_group_with_the_fewest_messages_in_flight(
    bare_cloud: LocalCloud, plain_queue: str
) -> None:
    sqs = bare_cloud.client("sqs", region=REGION)
    for number, group in enumerate("aaaab"):
        sqs.send_message(QueueUrl=plain_queue, MessageBody=f"{group}{number}", MessageGroupId=group)
    received = [sqs.receive_message(QueueUrl=plain_queue)["Messages"][0]["Body"] for _ in range(5)]
    assert received == ["a0", "b4", "a1", "a2", "a3"]


def test_no_message_is_lost_between_senders_and_the_worker(worker: Worker) -> None:
    for number in range(150):
        worker.send(counted=number)
    worker.wait_for(150, lambda todo: "counted" in todo)
    assert sorted(todo["counted"] for todo, _ in worker.deliveries() if "counted" in todo) == list(range(150))


LOOPER = """
import boto3
def handler(event, context):
    body = event["Records"][0]["body"] + "x"
    if len(body) <= 20:
        boto3.client("sqs").send_message(QueueUrl="%s", MessageBody=body)
    else:
        boto3.client("sqs").send_message(QueueUrl="%s", MessageBody=body)
"""


@pytest.mark.parametrize(("setting", "ends_with"), [({}, 17), ({"RecursiveLoop": "Allow"}, 21)])
def test_a_message_that_a_worker_sends_on_and_on_is_taken_for_a_loop(
    bare_cloud: LocalCloud, setting: dict[str, str], ends_with: int
) -> None:
    name = f"loop-{ends_with}"
    url = f"{bare_cloud.url}/{ACCOUNT}/{name}"
    redrive = {"deadLetterTargetArn": arn_of("Dead"), "maxReceiveCount": 5}
    mapping = {"FunctionName": {"Ref": "Looper"}, "EventSourceArn": arn_of("Queue"), "BatchSize": 1}
    resources = {
        "Role": role([CONSUME, statement("sqs:SendMessage")]),
        "Dead": resource("SQS::Queue", {"QueueName": f"{name}-dead"}),
        "Queue": resource("SQS::Queue", {"QueueName": name, "RedrivePolicy": redrive}),
        "Looper": function(LOOPER % (url, f"{url}-dead"), **setting),
        "Mapping": resource("Lambda::EventSourceMapping", mapping),
    }
    create(bare_cloud, name, resources)
    sqs = bare_cloud.client("sqs", region=REGION)
    sqs.send_message(QueueUrl=url, MessageBody="x")
    dead: list[dict[str, Any]] = []
    deadline = time.monotonic() + 300
    while not dead:
        assert time.monotonic() < deadline
        dead = sqs.receive_message(QueueUrl=f"{url}-dead", WaitTimeSeconds=5).get("Messages", [])
    assert len(dead[0]["Body"]) == ends_with


@pytest.mark.parametrize("missing", ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"])
def test_a_mapping_needs_a_role_that_may_consume(bare_cloud: LocalCloud, missing: str) -> None:
    some = [action for action in CONSUME["Action"] if action != missing]
    resources = worker_stack("unused", statements=[statement(some)])
    del resources["Table"]
    with pytest.raises(StackFailedError, match=f"permissions to call {missing.removeprefix('sqs:')} on SQS"):
        create(bare_cloud, f"lacking-{missing.removeprefix('sqs:').lower()}", resources)


def test_a_queue_must_hide_a_message_for_as_long_as_its_function_may_run(bare_cloud: LocalCloud) -> None:
    resources = worker_stack("unused", statements=[CONSUME])
    del resources["Table"]
    resources["Worker"]["Properties"]["Timeout"] = 61
    with pytest.raises(StackFailedError, match="visibility timeout: 60 seconds is less than Function timeout: 61"):
        create(bare_cloud, "impatient", resources)


def test_a_policy_that_demands_tls_lets_this_machine_in(bare_cloud: LocalCloud) -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": insecure}]}
    ids = create(
        bare_cloud,
        "tls-only",
        {
            "Queue": resource("SQS::Queue"),
            "Policy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy}),
        },
    )
    sqs = bare_cloud.client("sqs", region=REGION)
    assert sqs.send_message(QueueUrl=ids["Queue"], MessageBody="x")["MessageId"]

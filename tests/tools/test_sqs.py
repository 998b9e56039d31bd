"""SQS loses no message between threads and keeps time by the cloud's clock."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.small_stacks import REGION, arn_of, create, function, resource, role, statement

# Notes each delivery in another queue; a message says whether it fails and when it comes back then.
WORKER = """
import json, os, boto3
sqs = boto3.client("sqs")
def handler(event, context):
    failed = []
    for record in event["Records"]:
        todo = json.loads(record["body"])
        sqs.send_message(QueueUrl=os.environ["NOTES"], MessageBody=record["body"])
        if "visibility" in todo:
            sqs.change_message_visibility(QueueUrl=os.environ["QUEUE"], ReceiptHandle=record["receiptHandle"],
                                          VisibilityTimeout=todo["visibility"])
        if todo.get("fails"):
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
"""


@dataclass
class Worker:
    """A deployed queue with its worker, the notes of its deliveries and its dead letters."""

    cloud: LocalCloud
    ids: dict[str, str]

    def __post_init__(self) -> None:
        self.sqs = self.cloud.client("sqs", region=REGION)
        self.noted: list[dict[str, Any]] = []

    def send(self, delay: int = 0, **todo: Any) -> None:
        message = {"QueueUrl": self.ids["Queue"], "MessageBody": json.dumps(todo)}
        self.sqs.send_message(**message, DelaySeconds=delay)

    def deliveries(self, of: str, seconds: int = 1) -> int:
        """How often messages with this name were delivered, the notes that arrive in some seconds included."""
        while found := self.sqs.receive_message(
            QueueUrl=self.ids["Notes"], MaxNumberOfMessages=10, WaitTimeSeconds=seconds
        ).get("Messages"):
            for each in found:
                self.noted.append(json.loads(each["Body"]))
                self.sqs.delete_message(QueueUrl=self.ids["Notes"], ReceiptHandle=each["ReceiptHandle"])
        return sum(each["name"] == of for each in self.noted)

    def wait_for(self, number: int, of: str) -> None:
        wait_for(lambda: self.deliveries(of, seconds=0) >= number or None, f"{number} deliveries of {of}")


@pytest.fixture(scope="module")
def worker(bare_cloud: LocalCloud) -> Worker:
    queue = {
        "VisibilityTimeout": 600,
        "RedrivePolicy": {"deadLetterTargetArn": arn_of("Dead"), "maxReceiveCount": 2},
    }
    mapping = {"FunctionName": {"Ref": "Worker"}, "EventSourceArn": arn_of("Queue"), "BatchSize": 10}
    variables = {"NOTES": {"Ref": "Notes"}, "QUEUE": {"Ref": "Queue"}}
    resources = {
        "Role": role([statement("sqs:*")]),
        "Worker": function(WORKER, Environment={"Variables": variables}),
        "Notes": resource("SQS::Queue"),
        "Dead": resource("SQS::Queue"),
        "Queue": resource("SQS::Queue", queue),
        "Mapping": resource(
            "Lambda::EventSourceMapping", mapping | {"FunctionResponseTypes": ["ReportBatchItemFailures"]}
        ),
    }
    return Worker(bare_cloud, create(bare_cloud, "worker", resources))


def test_no_message_is_lost_between_senders_and_the_worker(worker: Worker) -> None:
    with ThreadPoolExecutor(8) as senders:
        list(senders.map(lambda number: worker.send(name="counted", number=number), range(300)))
    worker.wait_for(300, of="counted")
    numbers = [each["number"] for each in worker.noted if each["name"] == "counted"]
    assert sorted(numbers) == list(range(300))


def test_a_delayed_message_arrives_when_its_delay_is_over(worker: Worker) -> None:
    worker.send(name="late", delay=900)
    assert worker.deliveries("late") == 0
    worker.cloud.advance(600)
    assert worker.deliveries("late") == 0
    worker.cloud.advance(301)
    worker.wait_for(1, of="late")


def test_a_failed_message_comes_back_after_its_visibility_timeout_and_is_then_a_dead_letter(worker: Worker) -> None:
    worker.send(name="poison", fails=True)
    worker.wait_for(1, of="poison")
    assert worker.deliveries("poison") == 1
    worker.cloud.advance(601)
    worker.wait_for(2, of="poison")
    worker.cloud.advance(601)
    dead = worker.sqs.receive_message(QueueUrl=worker.ids["Dead"], WaitTimeSeconds=20)["Messages"]
    assert [json.loads(each["Body"])["name"] for each in dead] == ["poison"]


def test_a_function_can_let_its_message_come_back_earlier(worker: Worker) -> None:
    worker.send(name="eager", fails=True, visibility=60)
    worker.wait_for(1, of="eager")
    worker.cloud.advance(61)
    worker.wait_for(2, of="eager")

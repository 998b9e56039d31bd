"""SQS loses no message between threads, and follows the cloud's clock."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from local_cloud.interpreters.environments import CLOUD
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.small_stacks import REGION, arn_of, create, function, resource, role, statement

# Notes each delivery in another queue; the message says whether it fails and when it returns.
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
    """A deployed queue with its worker, the notes of its deliveries and its dead-letter queue."""

    cloud: LocalCloud
    ids: dict[str, str]

    def __post_init__(self) -> None:
        self.sqs = self.cloud.client("sqs", region=REGION)
        self.noted: list[dict[str, Any]] = []

    def send(self, delay: int = 0, **todo: Any) -> None:
        message = {"QueueUrl": self.ids["Queue"], "MessageBody": json.dumps(todo)}
        self.sqs.send_message(**message, DelaySeconds=delay)

    def deliveries(self, of: str, seconds: int = 1) -> int:
        """The number of deliveries of messages with this name, including notes of the next seconds."""
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


# Starts each change of a queue while another change is in progress, and prints those that did not wait.
CHANGES = """
import threading
from ministack.core.arn import parse_arn
from ministack.services import eventbridge, sns as stock_sns, sqs as stock
from local_cloud.emulator import eventbridge as own_eventbridge
from local_cloud.emulator.services import sns, sqs
for module in (sqs, sns, own_eventbridge):
    module.install()
url = stock._HANDLERS["CreateQueue"]({"QueueName": "q"}, "")["QueueUrl"]
arn = stock._queues[url]["attributes"]["QueueArn"]
changes = {
    "delete": lambda: stock._delete_messages_for_esm(url, {"x"}),
    "send": lambda: stock._HANDLERS["SendMessage"]({"QueueUrl": url, "MessageBody": "x"}, url),
    "receive": lambda: stock._collect_msgs(stock._queues[url], 1, 30),
    "feed": lambda: stock._receive_messages_for_esm(url, 1),
    "notify": lambda: stock_sns._deliver_to_sqs(arn, "{}", True, "x"),
    "dispatch": lambda: eventbridge._dispatch_to_sqs(parse_arn(arn), "{}"),
}
threads = {name: threading.Thread(target=change) for name, change in changes.items()}
with sqs._lock:
    for thread in threads.values():
        thread.start()
    for thread in threads.values():
        thread.join(0.1)
    print(sorted(name for name, thread in threads.items() if not thread.is_alive()))
for thread in threads.values():
    thread.join()
print(len(stock._queues[url]["messages"]))
"""


def test_no_change_of_a_queue_interrupts_another() -> None:
    command = [str(CLOUD.python()), "-c", CHANGES]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["[]", "3"]  # one message each from a sender, a topic and a rule


def test_every_message_reaches_the_worker(worker: Worker) -> None:
    with ThreadPoolExecutor(4) as senders:
        list(senders.map(lambda number: worker.send(name="counted", number=number), range(40)))
    worker.wait_for(40, of="counted")
    numbers = [each["number"] for each in worker.noted if each["name"] == "counted"]
    assert sorted(numbers) == list(range(40))


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

"""The faults that a test can order, each shown to hit what it names, and only that."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from botocore.retries.standard import ThrottledRetryableChecker

from local_cloud.cloud import LocalCloud
from support.small_stacks import REGION, arn_of, create, function, resource, role, statement

# Makes one call as the event says, without retries, and tells how it ended.
CALLER = """
import boto3, threading
from botocore.config import Config
from botocore.exceptions import ClientError
def handler(event, context):
    # A batch takes long enough to be killed in the middle. Real seconds: `time` is the cloud's own clock in functions.
    threading.Event().wait(event.get("sleep", 20 if "Records" in event else 0))
    if "service" not in event:
        return "done"
    client = boto3.client(event["service"], config=Config(retries={"total_max_attempts": 1}))
    try:
        getattr(client, event["operation"])(**event["parameters"])
        return "ok"
    except ClientError as error:
        return [error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]]
"""


class Faults:
    """The faults of a cloud."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._url = f"{cloud.url}/_slipway/faults"

    def order(self, service: str, operation: str, fault: str, **more: Any) -> None:
        """A fault for the functions of this module only, unless something else is said."""
        request = {"service": service, "operation": operation, "fault": fault, "function": "parts-"} | more
        answer = requests.post(self._url, json=request, timeout=60)
        assert answer.status_code == 200, answer.text

    def refusal(self, **request: Any) -> str:
        answer = requests.post(self._url, json=request, timeout=60)
        assert answer.status_code == 400
        return str(answer.json()["message"])

    def injected(self) -> dict[str, int]:
        answer: dict[str, int] = requests.get(self._url, timeout=60).json()["injected"]
        return answer

    def clear(self) -> None:
        requests.delete(self._url, timeout=60)


@dataclass
class Parts:
    """What the tests' stack consists of, by physical id."""

    cloud: LocalCloud
    ids: dict[str, str]

    def invoke(self, name: str = "Caller", **event: Any) -> dict[str, Any]:
        client = self.cloud.client("lambda", region=REGION)
        answer = client.invoke(FunctionName=self.ids[name], Payload=json.dumps(event))
        return {"answer": json.loads(answer["Payload"].read()), "failed": "FunctionError" in answer}

    def call(self, service: str, operation: str, **parameters: Any) -> Any:
        """What a call by the function ended with."""
        return self.invoke(service=service, operation=operation, parameters=parameters)["answer"]

    def put_row(self, key: str) -> Any:
        return self.call("dynamodb", "put_item", TableName=self.ids["Table"], Item={"pk": {"S": key}})

    def row_exists(self, key: str) -> bool:
        found = self.cloud.client("dynamodb", region=REGION).get_item(
            TableName=self.ids["Table"], Key={"pk": {"S": key}}
        )
        return "Item" in found

    def received(self, queue: str = "Queue", seconds: int = 1) -> list[str]:
        """The bodies in a queue, which may take so long to arrive."""
        sqs = self.cloud.client("sqs", region=REGION)
        answer = sqs.receive_message(QueueUrl=self.ids[queue], MaxNumberOfMessages=10, WaitTimeSeconds=seconds)
        for message in answer.get("Messages", []):
            sqs.delete_message(QueueUrl=self.ids[queue], ReceiptHandle=message["ReceiptHandle"])
        return [message["Body"] for message in answer.get("Messages", [])]


@pytest.fixture(scope="module")
def parts(bare_cloud: LocalCloud) -> Parts:
    keys = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }
    service = {"Effect": "Allow", "Principal": {"Service": ["sns.amazonaws.com", "events.amazonaws.com"]}}
    policy = {"Version": "2012-10-17", "Statement": [service | {"Action": "sqs:SendMessage", "Resource": "*"}]}
    subscription = {"TopicArn": {"Ref": "Topic"}, "Protocol": "sqs", "Endpoint": arn_of("Queue")}
    mapping = {"FunctionName": {"Ref": "Worker"}, "EventSourceArn": arn_of("Work"), "BatchSize": 1}
    resources = {
        "Role": role([statement("*")]),
        "Caller": function(CALLER, Timeout=60),
        "Bystander": function(CALLER),
        "Worker": function(CALLER),
        "Table": resource("DynamoDB::Table", {"BillingMode": "PAY_PER_REQUEST"} | keys),
        "Bucket": resource("S3::Bucket"),
        "Topic": resource("SNS::Topic"),
        "Queue": resource("SQS::Queue"),
        "SpareTopic": resource("SNS::Topic"),
        "SpareQueue": resource("SQS::Queue"),
        "Work": resource(
            "SQS::Queue", {"RedrivePolicy": {"deadLetterTargetArn": arn_of("Dead"), "maxReceiveCount": 1}}
        ),
        "Dead": resource("SQS::Queue"),
        "Policy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy}),
        "Subscription": resource("SNS::Subscription", subscription | {"RawMessageDelivery": True}),
        "Rule": resource(
            "Events::Rule",
            {"EventPattern": {"source": ["parts"]}, "Targets": [{"Id": "queue", "Arn": arn_of("Queue")}]},
        ),
        "Mapping": resource("Lambda::EventSourceMapping", mapping),
    }
    made = Parts(bare_cloud, create(bare_cloud, "parts", resources))
    for name in ("Caller", "Bystander"):
        made.invoke(name)
    return made


@pytest.fixture
def faults(bare_cloud: LocalCloud) -> Iterator[Faults]:
    ordered = Faults(bare_cloud)
    ordered.clear()
    yield ordered
    ordered.clear()


CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("dynamodb", "PutItem", "put_item", {"TableName": "{Table}", "Item": {"pk": {"S": "x"}}}),
    ("dynamodb", "Query", "query", {"TableName": "{Table}", "KeyConditionExpression": "pk = :x"}),
    ("s3", "PutObject", "put_object", {"Bucket": "{Bucket}", "Key": "x", "Body": "x"}),
    ("s3", "HeadObject", "head_object", {"Bucket": "{Bucket}", "Key": "x"}),
    ("s3", "ListObjectsV2", "list_objects_v2", {"Bucket": "{Bucket}"}),
    ("sqs", "SendMessage", "send_message", {"QueueUrl": "{SpareQueue}", "MessageBody": "x"}),
    ("sns", "Publish", "publish", {"TopicArn": "{SpareTopic}", "Message": "x"}),
    ("events", "PutEvents", "put_events", {"Entries": [{"Source": "x", "DetailType": "x", "Detail": "{{}}"}]}),
    ("sagemaker-runtime", "InvokeEndpoint", "invoke_endpoint", {"EndpointName": "x", "Body": "x"}),
    (
        "sagemaker-runtime",
        "InvokeEndpointAsync",
        "invoke_endpoint_async",
        {"EndpointName": "x", "InputLocation": "s3://bucket/x"},
    ),
    ("sagemaker", "DescribeEndpoint", "describe_endpoint", {"EndpointName": "x"}),
    ("logs", "DescribeLogGroups", "describe_log_groups", {}),
]


def filled_in(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled_in(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [filled_in(item, ids) for item in value]
    return value.format(**ids) if isinstance(value, str) else value


@pytest.mark.parametrize(("service", "operation", "method", "parameters"), CALLS, ids=lambda each: str(each)[:20])
def test_a_call_is_throttled_with_a_code_that_the_sdk_takes_for_throttling(
    parts: Parts, faults: Faults, service: str, operation: str, method: str, parameters: dict[str, Any]
) -> None:
    faults.order(service, operation, "throttle", count=1)
    status, code = parts.call(service, method, **filled_in(parameters, parts.ids))
    # A HEAD answer has no body that could tell a code.
    assert (code in ThrottledRetryableChecker._THROTTLED_ERROR_CODES) or (operation, status) == ("HeadObject", 503)
    assert faults.injected() == {"throttle": 1}
    again = parts.call(service, method, **filled_in(parameters, parts.ids))
    assert again == "ok" or again[1] != code


@pytest.mark.parametrize(("service", "operation", "method", "parameters"), CALLS, ids=lambda each: str(each)[:20])
def test_a_call_fails_on_the_side_of_the_service(
    parts: Parts, faults: Faults, service: str, operation: str, method: str, parameters: dict[str, Any]
) -> None:
    faults.order(service, operation, "error", count=1)
    assert parts.call(service, method, **filled_in(parameters, parts.ids))[0] == 500


def test_an_unknown_outcome_is_a_failure_of_something_that_was_done(parts: Parts, faults: Faults) -> None:
    faults.order("dynamodb", "PutItem", "error", count=1)
    assert parts.put_row("not-done")[0] == 500
    assert not parts.row_exists("not-done")
    faults.order("dynamodb", "PutItem", "error_after", count=1)
    assert parts.put_row("done")[0] == 500
    assert parts.row_exists("done")
    assert faults.injected() == {"error": 1, "error_after": 1}


def test_a_call_can_take_longer(parts: Parts, faults: Faults) -> None:
    faults.order("dynamodb", "PutItem", "delay", count=1, after_seconds=0.7)
    started = time.monotonic()
    assert parts.put_row("late") == "ok"
    assert time.monotonic() - started > 0.7


def test_a_fault_of_some_seconds_ends_by_itself(parts: Parts, faults: Faults) -> None:
    for seconds in (1, 4, 16):  # this machine may pause until the first is over
        faults.clear()
        faults.order("dynamodb", "PutItem", "throttle", seconds=seconds)
        deadline, refused = time.monotonic() + 60, 0
        while parts.put_row("patient") != "ok":
            refused += 1
            assert time.monotonic() < deadline
        assert faults.injected() == {"throttle": refused}
        if refused > 1:
            return
    raise AssertionError("it never lasted")


def test_a_share_of_the_calls_is_hit_the_same_ones_each_time(parts: Parts, faults: Faults) -> None:
    def run() -> list[bool]:
        faults.clear()
        faults.order("dynamodb", "PutItem", "throttle", count=100, share=0.5, seed=7)
        return [parts.put_row("shared") == "ok" for _ in range(12)]

    first = run()
    assert run() == first
    assert 0 < sum(first) < 12


def test_only_functions_are_hit_unless_everybody_is_meant(parts: Parts, faults: Faults) -> None:
    faults.order("dynamodb", "GetItem", "throttle", count=1)
    assert parts.row_exists("nothing") is False
    assert faults.injected() == {"throttle": 0}
    faults.clear()
    faults.order("dynamodb", "GetItem", "throttle", count=1, callers="everybody", function="")
    parts.row_exists("nothing")  # tried again by the SDK
    assert faults.injected() == {"throttle": 1}


def test_only_the_function_that_is_named_is_hit(parts: Parts, faults: Faults) -> None:
    faults.order("dynamodb", "PutItem", "throttle", count=5, function="Bystander")
    assert parts.put_row("unharmed") == "ok"
    assert faults.injected() == {"throttle": 0}


@pytest.mark.parametrize(("kind", "copies"), [("drop", 0), ("duplicate", 2)])
@pytest.mark.parametrize("way", ["sqs", "sns", "events"])
def test_a_message_is_lost_or_doubled_on_its_way(
    parts: Parts, faults: Faults, way: str, kind: str, copies: int
) -> None:
    name = parts.ids["Queue"].rpartition("/")[2]
    operation = "SendMessage" if way == "sqs" else "Deliver"
    faults.order(way, operation, kind, count=1, target=name, function="")
    for body in ("1", "2"):
        send(parts, way, body)
    received = parts.received(seconds=5) + parts.received()
    assert len(received) == copies + 1
    assert sum('"1"' in body for body in received) == copies
    assert faults.injected() == {kind: 1}


def send(parts: Parts, way: str, body: str) -> None:
    text = json.dumps({"n": body})
    if way == "sqs":
        answer = parts.call("sqs", "send_message", QueueUrl=parts.ids["Queue"], MessageBody=text)
    elif way == "sns":
        answer = parts.call("sns", "publish", TopicArn=parts.ids["Topic"], Message=text)
    else:
        entry = {"Source": "parts", "DetailType": "x", "Detail": text}
        answer = parts.call("events", "put_events", Entries=[entry])
    assert answer == "ok"


@pytest.mark.parametrize("way", ["sns", "events"])
def test_messages_change_places_when_one_is_late(parts: Parts, faults: Faults, way: str) -> None:
    def order(late_by_seconds: int) -> list[str]:
        faults.clear()
        faults.order(way, "Deliver", "delay", count=1, after_seconds=late_by_seconds, target="parts-Queue", function="")
        for body in ("1", "2"):
            send(parts, way, body)
        received = parts.received(seconds=5)
        for _ in range(3):
            received += parts.received(seconds=20) if len(received) < 2 else []
        return ["1" if '"1"' in body else "2" for body in received]

    # A machine that pauses for the first delay may not for the second.
    assert ["2", "1"] in (order(seconds) for seconds in (3, 12))


def test_a_function_is_killed_in_the_middle_of_its_run(parts: Parts, faults: Faults) -> None:
    faults.order("lambda", "Invoke", "kill", count=1, function="Caller", after_seconds=0.3)
    assert not parts.invoke("Bystander", sleep=0.5)["failed"]
    started = time.monotonic()
    assert parts.invoke(sleep=40)["failed"]
    assert 0.3 < time.monotonic() - started < 30
    assert parts.invoke() == {"answer": "done", "failed": False}
    assert faults.injected() == {"kill": 1}


def test_a_function_is_killed_right_after_a_call_that_was_done(parts: Parts, faults: Faults) -> None:
    faults.order("dynamodb", "PutItem", "kill", count=1, function="Caller")
    put = {"TableName": parts.ids["Table"], "Item": {"pk": {"S": "last-words"}}}
    assert parts.invoke(service="dynamodb", operation="put_item", parameters=put)["failed"]
    assert parts.row_exists("last-words")
    assert parts.put_row("next") == "ok"


@pytest.mark.parametrize(("kind", "ran"), [("error", False), ("error_after", True)])
def test_an_invocation_fails_before_or_after_it_ran(parts: Parts, faults: Faults, kind: str, ran: bool) -> None:
    faults.order("lambda", "Invoke", kind, count=1, function="Caller")
    put = {"TableName": parts.ids["Table"], "Item": {"pk": {"S": kind}}}
    assert parts.invoke(service="dynamodb", operation="put_item", parameters=put)["failed"]
    assert parts.row_exists(kind) is ran


def test_a_batch_of_a_killed_function_counts_as_failed(parts: Parts, faults: Faults) -> None:
    faults.order("lambda", "Invoke", "kill", count=1, function="Worker", after_seconds=0)
    sqs = parts.cloud.client("sqs", region=REGION)
    sqs.send_message(QueueUrl=parts.ids["Work"], MessageBody="unlucky")
    assert parts.received("Dead", seconds=20) == ["unlucky"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"service": "dynamodb", "operation": "PutItem"}, "needs fault"),
        ({"service": "dynamodb", "operation": "PutItem", "fault": "explode", "count": 1}, "'explode' can't happen"),
        ({"service": "dynamodb", "operation": "PutItem", "fault": "throttle"}, "exactly one of count"),
        ({"service": "dynamodb", "operation": "PutItem", "fault": "throttle", "times": 1}, "members of"),
        ({"service": "sns", "operation": "Deliver", "fault": "kill", "count": 1}, "'kill' can't happen"),
        ({"service": "lambda", "operation": "ListFunctions", "fault": "error", "count": 1}, "use its operation Invoke"),
        ({"service": "s3", "operation": "PutObject", "fault": "error", "count": "1"}, "count: '1' is no number"),
        ({"service": "s3", "operation": "PutObject", "fault": "error", "count": 1, "callers": "me"}, "callers: 'me'"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(faults: Faults, request_: dict[str, Any], said: str) -> None:
    assert said in faults.refusal(**request_)

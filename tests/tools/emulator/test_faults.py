"""Each of the three faults of functions hits only the function and the call that it names."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from local_cloud.cloud import LocalCloud
from support.stacks.ordered_faults import OrderedFaults
from support.stacks.small_stacks import REGION, create, function, resource, role, statement

CALLING = "faulty-Caller"  # part of the function's name

# Makes the call that the event describes, without retries, and returns how it ended.
CALLER = """
import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
def handler(event, context):
    client = boto3.client(event["service"], config=Config(retries={"total_max_attempts": 1}))
    try:
        getattr(client, event["operation"])(**event["parameters"])
        return "ok"
    except ClientError as error:
        return [error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]]
"""


@dataclass
class Caller:
    """A deployed function that makes calls, and the resources that it calls, by physical id."""

    cloud: LocalCloud
    ids: dict[str, str]

    def call(self, service: str, operation: str, **parameters: Any) -> Any:
        """Make a call by the function; returns how it ended, None if the function itself failed."""
        event = {"service": service, "operation": operation, "parameters": parameters}
        client = self.cloud.client("lambda", region=REGION)
        answer = client.invoke(FunctionName=self.ids["Caller"], Payload=json.dumps(event))
        return None if "FunctionError" in answer else json.loads(answer["Payload"].read())

    def put_row(self, key: str) -> Any:
        return self.call("dynamodb", "put_item", TableName=self.ids["Table"], Item={"pk": {"S": key}})

    def row_exists(self, key: str) -> bool:
        dynamodb = self.cloud.client("dynamodb", region=REGION)
        return "Item" in dynamodb.get_item(TableName=self.ids["Table"], Key={"pk": {"S": key}})


@pytest.fixture(scope="module")
def caller(bare_cloud: LocalCloud) -> Caller:
    keys = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }
    resources = {
        "Role": role([statement("*")]),
        "Caller": function(CALLER),
        "Table": resource("DynamoDB::Table", {"BillingMode": "PAY_PER_REQUEST"} | keys),
        "Bucket": resource("S3::Bucket"),
        "Queue": resource("SQS::Queue"),
    }
    return Caller(bare_cloud, create(bare_cloud, "faulty", resources))


@pytest.fixture
def faults(bare_cloud: LocalCloud) -> Iterator[OrderedFaults]:
    ordered = OrderedFaults(bare_cloud)
    yield ordered
    ordered.clear()


CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("dynamodb", "PutItem", "put_item", {"TableName": "{Table}", "Item": {"pk": {"S": "x"}}}),
    ("s3", "PutObject", "put_object", {"Bucket": "{Bucket}", "Key": "x", "Body": "x"}),
    ("sqs", "SendMessage", "send_message", {"QueueUrl": "{Queue}", "MessageBody": "x"}),
    ("events", "PutEvents", "put_events", {"Entries": [{"Source": "x", "DetailType": "x", "Detail": "{{}}"}]}),
    ("sagemaker-runtime", "InvokeEndpoint", "invoke_endpoint", {"EndpointName": "x", "Body": "x"}),
]


def filled_in(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled_in(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [filled_in(item, ids) for item in value]
    return value.format(**ids) if isinstance(value, str) else value


@pytest.mark.parametrize(("service", "operation", "method", "parameters"), CALLS, ids=lambda each: str(each)[:20])
def test_a_call_is_throttled_with_a_code_that_the_sdk_takes_for_throttling(
    caller: Caller, faults: OrderedFaults, service: str, operation: str, method: str, parameters: dict[str, Any]
) -> None:
    faults.order(service, operation, "throttle", function=CALLING)
    _, code = caller.call(service, method, **filled_in(parameters, caller.ids))
    assert code in ThrottledRetryableChecker._THROTTLED_ERROR_CODES
    again = caller.call(service, method, **filled_in(parameters, caller.ids))
    assert again == "ok" or again[1] != code


def test_a_throttled_call_is_not_done(caller: Caller, faults: OrderedFaults) -> None:
    faults.order("dynamodb", "PutItem", "throttle", function=CALLING)
    caller.put_row("throttled")
    assert not caller.row_exists("throttled")
    assert [each["injected"] for each in faults.shown()] == [1]


def test_an_unknown_outcome_is_a_failure_of_a_call_that_was_done(caller: Caller, faults: OrderedFaults) -> None:
    faults.order("dynamodb", "PutItem", "error_after", function=CALLING)
    assert caller.put_row("done")[0] == 500
    assert caller.row_exists("done")


def test_a_function_is_killed_right_after_a_call_that_was_done(caller: Caller, faults: OrderedFaults) -> None:
    faults.order("dynamodb", "PutItem", "kill", function=CALLING)
    assert caller.put_row("last-words") is None
    assert caller.row_exists("last-words")
    assert caller.put_row("next") == "ok"


def test_only_the_function_that_is_named_is_hit(caller: Caller, faults: OrderedFaults) -> None:
    faults.order("dynamodb", "PutItem", "throttle", function="Bystander")
    assert caller.put_row("unharmed") == "ok"
    assert [each["injected"] for each in faults.shown()] == [0]


def test_calls_of_users_are_never_hit(caller: Caller, faults: OrderedFaults) -> None:
    faults.order("dynamodb", "GetItem", "throttle")
    assert not caller.row_exists("nothing")
    assert [each["injected"] for each in faults.shown()] == [0]


def test_an_unknown_fault_is_refused(faults: OrderedFaults) -> None:
    answer = faults.order("dynamodb", "PutItem", "explode")
    assert (answer.status_code, "'explode' is not one of throttle" in answer.text) == (400, True)

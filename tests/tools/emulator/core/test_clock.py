"""Functions follow the cloud's clock: the time that they see, their sleep, and their remaining time."""

import json
import threading
import urllib.request
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from local_cloud.cloud import LocalCloud, free_port
from support.stacks.small_stacks import REGION, create, function, resource, role, statement

SOURCE = """
import time, boto3
def handler(event, context):
    before, left = time.time(), context.get_remaining_time_in_millis() / 1000
    boto3.client("sqs").send_message(QueueUrl=event["queue"], MessageBody="asleep")
    time.sleep(3600)
    boto3.client("sqs").list_queues()  # signed with the machine's own time
    return {"slept": time.time() - before, "now": time.time(),
            "left": left, "left_later": context.get_remaining_time_in_millis() / 1000}
"""


@pytest.fixture(scope="module")
def seen(bare_cloud: LocalCloud) -> dict[str, float]:
    """The times seen by a function that sleeps for an hour while the clock is put forward by an hour."""
    resources = {
        "Role": role([statement("sqs:*")]),
        "Function": function(SOURCE, Timeout=60),
        "Queue": resource("SQS::Queue"),
    }
    ids, found = create(bare_cloud, "timekeeper", resources), dict[str, float]()

    def invoke() -> None:
        payload = json.dumps({"queue": ids["Queue"]})
        answer = bare_cloud.client("lambda", region=REGION).invoke(FunctionName=ids["Function"], Payload=payload)
        found.update(json.loads(answer["Payload"].read()))

    invocation = threading.Thread(target=invoke)
    invocation.start()
    sqs = bare_cloud.client("sqs", region=REGION)
    while not sqs.receive_message(QueueUrl=ids["Queue"], WaitTimeSeconds=5).get("Messages"):
        pass
    bare_cloud.advance(3600)
    invocation.join()
    return found


def test_a_sleep_ends_when_the_clock_is_put_forward(seen: dict[str, float]) -> None:
    assert 3600 <= seen["slept"] < 3600 + 60


def test_the_time_that_is_left_counts_on_the_same_clock(seen: dict[str, float]) -> None:
    assert 50 < seen["left"] <= 60
    assert seen["left_later"] == 0


def test_the_clock_is_ahead_of_the_machine(seen: dict[str, float]) -> None:
    assert seen["now"] > datetime.now(UTC).timestamp() + 3000


def test_answers_are_dated_by_the_machine(seen: dict[str, float], bare_cloud: LocalCloud) -> None:
    """SDKs that adjust their clock by this header would otherwise sign for the future."""
    with urllib.request.urlopen(f"{bare_cloud.url}/_ministack/health") as answer:
        dated = parsedate_to_datetime(answer.headers["Date"])
    assert dated.timestamp() < seen["now"] - 3000


def test_events_of_a_stack_are_on_the_same_clock(seen: dict[str, float], bare_cloud: LocalCloud) -> None:
    create(bare_cloud, "later", {"Queue": resource("SQS::Queue")})
    events = bare_cloud.client("cloudformation", region=REGION).describe_stack_events(StackName="later")["StackEvents"]
    assert min(event["Timestamp"].timestamp() for event in events) > seen["now"]


def test_a_fast_clock_is_fast_for_functions_too() -> None:
    source = "import time\ndef handler(event, context):\n    time.sleep(600)\n    return 1"
    with LocalCloud(port=free_port(), clock_speed=1000) as cloud:
        cloud.wait_until_ready()
        name = create(cloud, "fast", {"Role": role([]), "Function": function(source)})["Function"]
        answer = cloud.client("lambda", region=REGION).invoke(FunctionName=name)
    assert json.loads(answer["Payload"].read()) == 1

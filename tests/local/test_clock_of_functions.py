"""Functions live on the cloud's clock: what they take for the time, how they sleep, how long they believe to have."""

import json
from datetime import UTC, datetime

import pytest

from local_cloud.cloud import LocalCloud
from support.small_stacks import REGION, create, function, resource, role, statement

SOURCE = """
import time, boto3
from datetime import datetime
def handler(event, context):
    before, real = time.time(), datetime.now().timestamp()
    left = context.get_remaining_time_in_millis() / 1000
    time.sleep(60)
    boto3.client("sqs").list_queues()  # signed with the machine's own time
    return {"slept": time.time() - before, "really": datetime.now().timestamp() - real,
            "left": left, "left_later": context.get_remaining_time_in_millis() / 1000, "now": time.time()}
"""


@pytest.fixture(scope="module")
def seen(bare_cloud: LocalCloud) -> dict[str, float]:
    """What a function has seen that sleeps for 60 of its 30 * 30 s."""
    resources = {
        "Role": role([statement("sqs:ListQueues")]),
        "Function": function(SOURCE),
        "Queue": resource("SQS::Queue"),
    }
    name = create(bare_cloud, "timekeeper", resources)["Function"]
    answer = bare_cloud.client("lambda", region=REGION).invoke(FunctionName=name)
    found: dict[str, float] = json.loads(answer["Payload"].read())
    return found


def test_a_second_of_the_machine_is_thirty_of_a_function(seen: dict[str, float]) -> None:
    assert seen["slept"] >= 60
    assert seen["slept"] == pytest.approx(seen["really"] * 30, rel=0.1)


def test_the_time_that_is_left_counts_on_the_same_clock(seen: dict[str, float]) -> None:
    assert 750 < seen["left"] <= 900  # the timeout is 30 s of this machine
    assert seen["left"] - seen["left_later"] == pytest.approx(seen["slept"], abs=20)


def test_the_clock_is_ahead_of_the_machine(seen: dict[str, float]) -> None:
    assert seen["now"] > datetime.now(UTC).timestamp() + 1

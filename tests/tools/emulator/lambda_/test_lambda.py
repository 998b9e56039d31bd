"""The local Lambda does what AWS does: refusals of roles, runtimes and event sources, logs, changes of functions."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import (
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

CONSUME = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
PRINTING = "def handler(event, context): print('a line'); print(); print('no line feed', end='')"


def test_a_function_needs_a_role_that_lambda_may_assume(bare_cloud: LocalCloud) -> None:
    resources = {"Role": role([], service="ec2"), "Function": function(PRINTING)}
    with pytest.raises(StackFailedError, match="cannot be assumed by Lambda"):
        create(bare_cloud, "untrusting", resources)


def test_a_function_needs_a_runtime_that_exists(bare_cloud: LocalCloud) -> None:
    with pytest.raises(StackFailedError, match=r"python9\.9"):
        create(bare_cloud, "unknown-runtime", {"Role": role([]), "Function": function(PRINTING, Runtime="python9.9")})


def test_a_function_logs_only_if_its_role_may(bare_cloud: LocalCloud) -> None:
    mute = role([])
    mute["Properties"]["Policies"][0]["PolicyDocument"]["Statement"] = [statement("s3:GetObject")]
    resources = {
        "Role": role([]),
        "Mute": mute,
        "Log": resource("Logs::LogGroup"),
        "MuteLog": resource("Logs::LogGroup"),
        "Function": function(PRINTING, LoggingConfig={"LogGroup": {"Ref": "Log"}}),
        "MuteFunction": function(PRINTING, "Mute", LoggingConfig={"LogGroup": {"Ref": "MuteLog"}}),
    }
    ids = create(bare_cloud, "logging", resources)
    lambda_, logs = bare_cloud.client("lambda", region=REGION), bare_cloud.client("logs", region=REGION)
    for name in ("Function", "MuteFunction"):
        lambda_.invoke(FunctionName=ids[name])
    events = logs.filter_log_events(logGroupName=ids["Log"])["events"]
    assert [each["message"].split()[0] for each in events if each["message"]] == ["START", "a", "no", "END", "REPORT"]
    assert len({each["eventId"] for each in events}) == len(events)
    assert logs.filter_log_events(logGroupName=ids["MuteLog"])["events"] == []


def fed_function(actions: list[str], **properties: Any) -> Resources:
    """A queue that feeds a function whose role allows these actions."""
    mapping = {"FunctionName": {"Ref": "Function"}, "EventSourceArn": arn_of("Queue")}
    return {
        "Role": role([statement(actions)]),
        "Function": function(PRINTING, **properties),
        "Queue": resource("SQS::Queue", {"VisibilityTimeout": 60}),
        "Mapping": resource("Lambda::EventSourceMapping", mapping),
    }


@pytest.mark.parametrize("missing", CONSUME)
def test_an_event_source_needs_a_role_that_may_consume(bare_cloud: LocalCloud, missing: str) -> None:
    action = missing.removeprefix("sqs:")
    with pytest.raises(StackFailedError, match=f"permissions to call {action} on SQS"):
        create(bare_cloud, f"lacking-{action.lower()}", fed_function([each for each in CONSUME if each != missing]))


def test_a_queue_must_hide_a_message_for_as_long_as_its_function_may_run(bare_cloud: LocalCloud) -> None:
    with pytest.raises(StackFailedError, match="visibility timeout: 60 seconds is less than Function timeout: 61"):
        create(bare_cloud, "impatient", fed_function(CONSUME, Timeout=61))


def test_a_function_that_changes_while_it_works_answers_first(bare_cloud: LocalCloud, tmp_path: Path) -> None:
    begun, released = tmp_path / "begun", tmp_path / "released"
    waiting = f"""
import os, pathlib, threading
def handler(event, context):
    pathlib.Path({str(begun)!r}).touch()
    while event and not os.path.exists({str(released)!r}):
        threading.Event().wait(0.01)
    return os.environ["NAME"]
"""
    names = {name: {"Variables": {"NAME": name}} for name in ("old", "new")}
    resources = {"Role": role([]), "Function": function(waiting, Timeout=60, Environment=names["old"])}
    name = create(bare_cloud, "changing-function", resources)["Function"]
    lambda_ = bare_cloud.client("lambda", region=REGION)

    def ask(event: dict[str, Any]) -> Any:
        return json.loads(lambda_.invoke(FunctionName=name, Payload=json.dumps(event))["Payload"].read())

    with ThreadPoolExecutor(1) as caller:
        answer = caller.submit(ask, {"wait": True})
        wait_for(lambda: begun.exists() or None, "the invocation")
        lambda_.update_function_configuration(FunctionName=name, Environment=names["new"])
        assert ask({}) == "new"
        released.touch()
        assert answer.result() == "old"


@pytest.fixture
def others(bare_cloud: LocalCloud) -> Iterator[Callable[[int], int]]:
    """Wait until no call of an earlier test runs, and return a function that lets other functions run so many calls."""

    def take(count: int) -> int:
        answer = requests.post(f"{bare_cloud.url}/_slipway/concurrency", json={"others": count}, timeout=30)
        return int(answer.json()["running"])

    wait_for(lambda: take(0) == 0 or None, "the end of calls of earlier tests")
    yield take
    take(0)


def test_a_reserved_function_has_places_of_its_own(bare_cloud: LocalCloud, others: Callable[[int], int]) -> None:
    two = {"Role": role([]), "Kept": function(PRINTING, ReservedConcurrentExecutions=7), "Plain": function(PRINTING)}
    names = create(bare_cloud, "reserved", two)
    lambda_ = bare_cloud.client("lambda", region=REGION)
    unreserved = lambda_.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    others(unreserved - 1)
    assert lambda_.invoke(FunctionName=names["Plain"])["StatusCode"] == 200
    others(unreserved)
    assert lambda_.invoke(FunctionName=names["Kept"])["StatusCode"] == 200
    with pytest.raises(lambda_.exceptions.TooManyRequestsException):
        lambda_.invoke(FunctionName=names["Plain"])


def test_reservations_leave_a_hundred_places(bare_cloud: LocalCloud) -> None:
    greedy = {"Role": role([]), "Function": function(PRINTING, ReservedConcurrentExecutions=901)}
    with pytest.raises(StackFailedError, match=r"UnreservedConcurrentExecution below its minimum value of \[100\]"):
        create(bare_cloud, "greedy", greedy)

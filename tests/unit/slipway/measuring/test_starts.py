"""Parts of a start, from CloudFormation's events and the lines of a container."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from llm_hosting.stack_label import StackLabel
from slipway.measuring import starts
from slipway.measuring.loads import Stop
from slipway.measuring.prompts import Prompt

ENDPOINT, TABLE = "AWS::SageMaker::Endpoint", "AWS::DynamoDB::Table"
# Events of an update at 1,000 s; the newest first, as CloudFormation lists them.
EVENTS = [
    (1500, ENDPOINT, "UPDATE_COMPLETE"),
    (1010, TABLE, "UPDATE_COMPLETE"),
    (1005, ENDPOINT, "UPDATE_IN_PROGRESS"),
    (1000, ENDPOINT, "UPDATE_IN_PROGRESS"),
    (900, ENDPOINT, "CREATE_COMPLETE"),
    (100, ENDPOINT, "CREATE_IN_PROGRESS"),
]
# Lines of the old container, and of the new one's two workers.
LINES = [
    (1100, "old", "POST /invocations 200"),
    (1300, "new", "INFO starting"),
    (1360, "new", "INFO [weight_utils.py:581] Time spent downloading weights for Qwen/Qwen3-4B: 50.0 seconds"),
    (1365, "new", "INFO [weight_utils.py:581] Time spent downloading weights for Qwen/Qwen3-4B: 52.5 seconds"),
]


def stack(lines: Any = LINES, events: Any = EVENTS, watch: int = 100) -> Any:
    """A deployed stack of CloudFormation and CloudWatch Logs alone."""

    def pages(operation: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if operation == "describe_stack_events":
            for second, kind, status in events:
                at = datetime.fromtimestamp(second, UTC)
                yield {"StackEvents": [{"ResourceType": kind, "ResourceStatus": status, "Timestamp": at}]}
        elif operation == "describe_log_streams":
            created = {name: second for second, name, _ in reversed(lines)}
            for name, second in created.items():
                yield {
                    "logStreams": [
                        {"logStreamName": name, "creationTime": (second - 1) * 1000 - 200_000 * (name == "old")}
                    ]
                }
        else:
            within = [
                {"timestamp": second * 1000, "message": message}
                for second, name, message in lines
                if asked["startTime"] <= second * 1000 <= asked["endTime"]
                and name in asked.get("logStreamNames", [name])
            ]
            yield {"events": within}

    def paginator(operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **asked: pages(operation, asked))

    clients = SimpleNamespace(get_paginator=paginator)
    policy = {"BlueGreenUpdatePolicy": {"TerminationWaitInSeconds": watch}}
    return SimpleNamespace(
        name="chat",
        stack_name="chat",
        label=StackLabel("Qwen/Qwen3-4B", "realtime"),
        endpoint={"LastDeploymentConfig": policy},
        endpoint_name="chat-1",
        clients=lambda _: clients,
    )


def test_an_update_is_measured_from_its_own_events_and_containers() -> None:
    found = starts.of_deploy(stack())
    assert found
    assert (found.kind, found.parts) == (
        "deploy",
        {
            "capacity and image, and weights that are staged": 300.0,
            "weights": 52.5,
            "load, switch, end of the old instances": 47.5,
            "watch of the alarms": 100.0,
        },
    )


def test_a_creation_tells_the_time_to_load() -> None:
    found = starts.of_deploy(stack([(400, "first", "INFO starting")], EVENTS[4:]))
    assert found
    assert found.parts == {"capacity and image, and weights that are staged": 300.0, "load": 500.0}


@pytest.mark.parametrize("events", [[], EVENTS[2:4], EVENTS[:1], EVENTS[1:2]])
def test_a_start_that_nobody_saw_has_no_parts(events: Any) -> None:
    assert starts.of_deploy(stack(events=events)) is None


def test_a_start_without_a_log_has_no_parts() -> None:
    assert starts.of_deploy(stack(lines=LINES[:1])) is None


def test_a_spent_budget_ends_the_wait_for_what_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    asleep, stop = stack(), Stop(at=0)
    asleep.bodies = ["messages"]
    answers = {"GET": {"status": "InService"}, "POST": {"id": "a", "status": "queued"}}
    api: Any = SimpleNamespace(call=lambda method, *_: SimpleNamespace(status=200, content=answers[method]))
    with pytest.raises(starts.AwakeError, match="the budget is spent, and the first request is not answered yet"):
        starts.from_zero(asleep, api, Prompt("a", 1), stop, lambda _: None)

"""Parts of a start, from CloudFormation's events and the lines of a container."""

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from llm_hosting.stack_label import StackLabel
from slipway.measuring import starts
from slipway.measuring.figures.results import MeasuredAnswer
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
        component_name=None,
        shares_endpoint=False,
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
    route: Any = SimpleNamespace(name="jobs")
    with pytest.raises(starts.AwakeError, match="the budget is spent, and the first request is not answered yet"):
        starts.from_zero(asleep, api, route, Prompt("a", 1), stop, lambda _: None)


class Sleeping:
    """A real-time model that sleeps, as GET /endpoint and the endpoint's instances show it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, states: list[str], *, instances: int = 0) -> None:
        self.states, self.instances = states, instances
        hosting = SimpleNamespace(running=Counter(), first_of_start="capacity", log_group="log")
        hosting.running["ml.g6.2xlarge"] = instances
        monkeypatch.setattr(starts, "hosting_of", lambda _: hosting)
        monkeypatch.setattr("time.sleep", self.pass_time)
        self.hosting, self.asked, self.ends = hosting, threading.Event(), threading.Event()
        self.stack = stack(lines=[])
        self.stack.component_name, self.stack.unread = "chat-1", self.stack

    def pass_time(self, seconds: float) -> None:
        assert self.asked.wait(10)
        if len(self.states) == 1:
            self.ends.set()
            self.thread.join(10)
        else:
            self.states.pop(0)
            self.hosting.running["ml.g6.2xlarge"] = int(self.states[0] == "ready")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        assert (method, path) == ("GET", "endpoint"), "a streamed wake submits no job"
        words = {"ready": "InService", "asleep": "Stopped", "starting": "Starting"}
        return SimpleNamespace(status=200, content={"status": words[self.states[0]], "state": self.states[0]})

    def measure(self, answer: MeasuredAnswer, problem: str = "") -> Any:
        def ask(prompt: Prompt) -> MeasuredAnswer:
            self.thread = threading.current_thread()
            self.asked.set()
            assert self.ends.wait(10)
            return answer

        route: Any = SimpleNamespace(name="chat", ask=ask, problem=problem)
        api: Any = SimpleNamespace(call=self.call)
        return starts.from_zero(self.stack, api, route, Prompt("a", 1), Stop(), lambda _: None)


def test_a_wake_is_measured_to_the_first_token_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping = Sleeping(monkeypatch, ["asleep", "starting", "starting", "ready"])
    found = sleeping.measure(MeasuredAnswer(0, first_token_in_s=500.0, last_token_in_s=501.0))
    assert found.kind == "zero"
    assert set(found.parts) == {"until it serves", "first_token"}
    assert sum(found.parts.values()) == pytest.approx(500, abs=0.2)


@pytest.mark.parametrize(
    ("answer", "problem", "said"),
    [
        (MeasuredAnswer(0, error="503"), "503 daily_wakes_exceeded: 24 a day", "daily_wakes_exceeded"),
        (MeasuredAnswer(0, error="model_not_started"), "", "model_not_started"),
        (MeasuredAnswer(0, last_token_in_s=2.0), "", "a stream without tokens"),
    ],
)
def test_a_wake_without_a_token_is_no_measurement(
    answer: MeasuredAnswer, problem: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(starts.AwakeError, match=f"the first request ended as .*{said}"):
        Sleeping(monkeypatch, ["asleep", "starting"]).measure(answer, problem)


@pytest.mark.parametrize(("state", "instances"), [("ready", 1), ("starting", 0), ("asleep", 1)])
def test_only_a_model_at_rest_is_measured_from_zero(
    state: str, instances: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(starts.AwakeError, match=rf"must be asleep, but is {state} \(running instances: {instances}\)"):
        Sleeping(monkeypatch, [state], instances=instances).measure(MeasuredAnswer(0))

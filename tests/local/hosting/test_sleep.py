"""A deployed model that sleeps at zero copies: callers who wake it, together and alone, and starts that fail."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.api_client import connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy, destroy
from support.hostile_chunks import events_of
from support.stacks.canary import KEPT, Canary
from support.stacks.component_endpoints import PlacedComponent, metric, order
from support.stacks.deployed_stacks import edited, ended
from support.templates.template_parts import Template, functions, properties

NAME = "qwen3-4b-zero"
CHAT = {"model": "Qwen/Qwen3-4B", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
PROMPT = {"prompt": "A list is", "max_tokens": 8}
JSON = {"content-type": "application/json"}


class Sleeper(PlacedComponent):
    """The deployed model, its component and the row of its wakes."""

    def __init__(self, cloud: LocalCloud, stack: Stack) -> None:
        outputs = deploy(cloud, stack)
        super().__init__(cloud, outputs["InferenceComponentName"], outputs["EndpointName"], stack.region)
        self.stack, self.api = stack, connect(cloud, outputs, stack.region)
        self._table, self._dynamodb = outputs["JobTable"], cloud.client("dynamodb", region=stack.region)

    def fall_asleep(self) -> None:
        """Take the model to zero, and forget the wakes before."""
        super().fall_asleep()
        self._dynamodb.delete_item(TableName=self._table, Key={"pk": {"S": "wake"}})

    def asks(self) -> int:
        found = self._dynamodb.get_item(TableName=self._table, Key={"pk": {"S": "wake"}}, ConsistentRead=True)
        asks: str = found["Item"]["asks"]["N"]
        return int(asks)

    def stream(self, more: Callable[[str], None] = lambda line: None, **asked: Any) -> list[str]:
        """Return the lines of a streamed chat, each of which `more` also gets as it comes."""
        lines, body = list[str](), json.dumps(CHAT | {"stream": True} | asked).encode()
        with self.api.open("POST", "/chat/completions", body, JSON, timeout=300) as answer:
            assert answer.status == 200, answer.read()
            for line in answer:
                if text := line.decode().strip():
                    lines.append(text)
                    more(text)
        return lines


def events(lines: list[str]) -> list[Any]:
    found = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(each) for each in found]


def text_of(lines: list[str]) -> str:
    return "".join(choice["delta"].get("content") or "" for each in events(lines) for choice in each["choices"])


def let_many_wait_for_a_slow_model(template: Template) -> None:
    """Give each caller room for ten waits at once, and each token time: a long answer outlasts what a test does."""
    container = properties(template, "SageMaker::Model")["PrimaryContainer"]
    container["Environment"]["SLIPWAY_LOCAL_SECONDS_PER_TOKEN"] = "0.02"
    for each in functions(template).values():
        variables = each["Environment"]["Variables"]
        variables["JOB_SETTINGS"] = json.dumps(json.loads(variables["JOB_SETTINGS"]) | {"max_waiting": 20})


@pytest.fixture(scope="module")
def sleeper(cloud: LocalCloud, stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory) -> Sleeper:
    return Sleeper(cloud, edited(stacks[NAME], tmp_path_factory.mktemp("sleep"), let_many_wait_for_a_slow_model, NAME))


@pytest.fixture
def asleep(sleeper: Sleeper) -> Iterator[Sleeper]:
    sleeper.fall_asleep()
    yield sleeper
    requests.delete(f"{sleeper.cloud.url}/_slipway/endpoint-instances", timeout=30).raise_for_status()
    order(sleeper.cloud, {"start_seconds": 2})


@pytest.fixture
def passing(asleep: Sleeper) -> Iterator[None]:
    """Let the time of the cloud pass 30 times as fast."""
    over = threading.Event()

    def advance() -> None:
        while not over.wait(1):
            asleep.cloud.advance(30)

    thread = threading.Thread(target=advance)
    thread.start()
    yield
    over.set()
    thread.join()


def test_a_stream_over_a_wake_begins_with_comments_and_goes_on_with_tokens(asleep: Sleeper) -> None:
    first, *others, last = asleep.stream()
    assert first.startswith(": the model is starting")
    assert last == "data: [DONE]"
    assert text_of(others)
    assert len(events(others)) > 2  # the endpoint's own stream, not a whole answer of a job
    assert asleep.asks() == 1


def test_a_response_over_a_wake_begins_with_comments_and_goes_on_with_its_events(asleep: Sleeper) -> None:
    body = json.dumps({"input": "What is a list?", "max_output_tokens": 8, "stream": True}).encode()
    with asleep.api.open("POST", "/responses", body, JSON, timeout=300) as answer:
        raw: bytes = answer.read()
    assert raw.startswith(b": the model is starting")
    found = events_of(raw)
    assert [found[0]["type"], found[-1]["type"]] == ["response.created", "response.incomplete"]
    assert len([each for each in found if each["type"].endswith("text.delta")]) > 2


def test_reading_wakes_nobody(asleep: Sleeper) -> None:
    for path in ("/endpoint", "/models"):
        assert asleep.api.call("GET", path)[0] == 200
    asleep.cloud.advance(30)  # enough for the alarm of refused calls
    _, _, described = asleep.api.call("GET", "/endpoint")
    assert (described["status"], described["state"]) == ("Stopped", "asleep")
    assert described["start"]["left_seconds"] > 0
    assert asleep.copies()[0] == 0


def test_a_plain_chat_is_told_when_to_come_back_or_held_on_request(asleep: Sleeper) -> None:
    status, headers, answer = asleep.api.call("POST", "/chat/completions", CHAT)
    assert (status, answer["error"]["code"]) == (503, "model_starting")
    assert int(headers["retry-after"]) > 0
    status, _, answer = asleep.api.call("POST", "/chat/completions?wait=120", CHAT, timeout=150)
    assert (status, bool(answer["choices"][0]["message"]["content"])) == (200, True)
    assert asleep.asks() == 1


def test_a_whole_generation_becomes_a_job_whose_attempts_do_not_count(asleep: Sleeper) -> None:
    status, _, answer = asleep.api.call("POST", "/generate?wait=0", PROMPT)
    assert status == 202
    assert ended(asleep.api, answer)["status"] == "succeeded"


def test_many_callers_at_once_wake_the_model_once_and_all_are_answered(asleep: Sleeper) -> None:
    def job(_: int) -> str:
        accepted = asleep.api.call("POST", "/jobs", PROMPT)[2]
        return str(ended(asleep.api, accepted)["status"])

    with ThreadPoolExecutor(8) as callers:
        streams = [callers.submit(asleep.stream) for _ in range(4)]
        jobs = list(callers.map(job, range(4)))
    assert [stream.result()[-1] for stream in streams] == ["data: [DONE]"] * 4
    assert all(text_of(stream.result()) for stream in streams)
    assert jobs == ["succeeded"] * 4
    assert asleep.asks() <= 1  # the alarm of refused calls may have been faster
    assert asleep.copies()[0] == 1


def test_while_a_copy_starts_the_endpoint_gets_few_calls(asleep: Sleeper) -> None:
    order(asleep.cloud, {"start_seconds": 20})
    before = metric(asleep.cloud, asleep.name, "NoCapacityInvocationFailures")
    for _ in range(3):
        asleep.api.call("POST", "/chat/completions", CHAT)
    asleep.stream()
    assert metric(asleep.cloud, asleep.name, "NoCapacityInvocationFailures") - before == 1


def test_a_scale_in_during_a_stream_ends_it_with_an_error_and_the_next_call_wakes(asleep: Sleeper) -> None:
    asleep.stream()
    begun = threading.Event()

    def scale_in(line: str) -> None:
        if line.startswith("data: {") and not begun.is_set():
            begun.set()
            asleep.ask_for(0)

    *_, last = asleep.stream(scale_in, max_tokens=8000)
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "model_error"
    asleep.wait_until_settled()
    assert asleep.stream()[-1] == "data: [DONE]"


@pytest.fixture
def without_quota(asleep: Sleeper) -> dict[str, Any]:
    """Take the quota away, and return a job that was accepted before any time passes."""
    asleep.release_instances()
    order(asleep.cloud, {"fault": "quota", "count": 100})
    status, _, accepted = asleep.api.call("POST", "/jobs", PROMPT)
    assert status == 202, accepted
    return dict(accepted)


def test_a_quota_of_zero_is_told_on_the_stream_which_ends_and_jobs_wait(
    asleep: Sleeper, without_quota: dict[str, Any], passing: None
) -> None:
    lines = asleep.stream()
    error = events(lines)[-1]["error"]
    assert error["code"] == "model_not_started"
    assert "limit" in error["message"].lower()
    assert "111122223333" not in error["message"]
    assert asleep.api.call("GET", f"/jobs/{without_quota['id']}")[2]["status"] in ("queued", "running")
    requests.delete(f"{asleep.cloud.url}/_slipway/endpoint-instances", timeout=30).raise_for_status()
    assert ended(asleep.api, without_quota)["status"] == "succeeded"


@pytest.mark.usefixtures("passing")
def test_a_lack_of_capacity_is_told_on_the_stream_until_it_ends(asleep: Sleeper) -> None:
    asleep.release_instances()
    order(asleep.cloud, {"fault": "no_capacity", "count": 1000})
    lines = asleep.stream()
    error = events(lines)[-1]["error"]
    assert error["code"] in ("model_not_started", "model_starting")
    assert "capacity" in error["message"].lower()
    requests.delete(f"{asleep.cloud.url}/_slipway/endpoint-instances", timeout=30).raise_for_status()
    assert asleep.stream()[-1] == "data: [DONE]"


def test_what_callers_of_a_sleeping_model_write_is_in_no_log(cloud: LocalCloud, sleeper: Sleeper) -> None:
    asked = [{"role": "user", "content": "canary-asleep"}]
    canary = Canary(cloud, sleeper.api.region, "canary-asleep")
    sleeper.fall_asleep()
    assert text_of(sleeper.stream(messages=asked))
    ended(sleeper.api, sleeper.api.call("POST", "/jobs", CHAT | {"messages": asked})[2])
    places = canary.places()
    assert "file input" in places
    assert places - KEPT == set()


@pytest.mark.usefixtures("passing")
def test_a_delete_during_a_wake_is_refused_and_ends_the_stream_and_the_next_delete_leaves_nothing(
    asleep: Sleeper,
) -> None:
    """The last test: it deletes the stack. SageMaker deletes no component whose copies start."""
    asleep.release_instances()
    order(asleep.cloud, {"start_seconds": 400})
    deleting = list[Future[None]]()

    def delete(line: str) -> None:
        if not deleting:
            deleting.append(caller.submit(destroy, asleep.cloud, asleep.stack))

    with ThreadPoolExecutor(1) as caller:
        with suppress(OSError, HTTPException):
            asleep.stream(delete)
        with pytest.raises(DeployError, match="in-progress"):
            deleting[0].result()
    asleep.wait_until_settled()
    destroy(asleep.cloud, asleep.stack)
    with pytest.raises(ClientError, match="Could not find"):
        asleep.describe()

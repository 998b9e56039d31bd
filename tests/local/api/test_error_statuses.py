"""Each error status of both routes: our JSON shape, a request id, and Retry-After where it helps."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import Credentials, LocalCloud
from support.patience import wait_for
from support.stacks.deployed_stacks import Answer, Apis, assert_refused, containers, deployed, ended
from support.stacks.ordered_faults import OrderedFaults

CHAT = {"messages": [{"role": "user", "content": "Hello"}]}


def raw(client: ApiClient, path: str, body: bytes, content_type: str = "application/json") -> Answer:
    """Send a signed POST with any bytes."""
    return client.send("POST", path, body, {"content-type": content_type})


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"", "empty_body", "The body is empty"),
        (b"  ", "empty_body", "The body is empty"),
        (b"hello", "invalid_json", ""),
        (b'{"inputs": NaN}', "invalid_json", "NaN"),
        (b'{"inputs": "a", "inputs": "b"}', "invalid_json", "inputs"),
        (b'{"inputs": ' + b"[" * 101 + b"]" * 101 + b"}", "invalid_json", "100"),
        (b'["inputs"]', "invalid_json", "object"),
        (b"{}", "unsupported_body", "invalid"),
        (b'{"inputs": ""}', "empty_input", "invalid"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "unsupported_body", '"inputs"'),
        (b'{"inputs": "a", "prompt": "b"}', "unsupported_body", "prompt"),
        (b'{"inputs": 5}', "invalid_input", "inputs"),
        (b'{"inputs": "a", "stream": "yes"}', "invalid_parameter", "stream"),
        (b'{"inputs": "a", "parameters": {"temperature": 0}}', "invalid_parameter", "greater than 0"),
        (b'{"inputs": "a", "parameters": {"max_new_tokens": true}}', "invalid_parameter", "whole number"),
        (b'{"inputs": "a", "parameters": {"top_p": "high"}}', "invalid_parameter", "number"),
        (b'{"inputs": "a", "parameters": {"max_new_tokens": 999999}}', "context_length_exceeded", "max_new_tokens"),
    ],
)
def test_a_bad_body_is_a_400_that_says_what_to_change(apis: Apis, body: bytes, code: str, said: str) -> None:
    assert_refused(raw(apis("gpt2"), "/generate", body), 400, code, said)


@pytest.mark.parametrize("path", ["/chat/completions", "/completions"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b"hello", "invalid_json"),
        (b'{"model": NaN}', "invalid_json"),
        (b'{"n": 1, "n": 2}', "invalid_json"),
        (b'{"metadata": ' + b"[" * 101 + b"]" * 101 + b"}", "invalid_json"),
        (b'{"tools": ' + b"[" * 100_000, "invalid_json"),
        (b'["messages"]', "invalid_json"),
        (b"{}", "unsupported_body"),
        (b'{"inputs": "a"}', "unsupported_body"),
        (b'{"messages": [], "prompt": ""}', "unsupported_body"),
    ],
    ids=range(10),
)
def test_a_bad_body_of_an_openai_client_is_a_400(apis: Apis, path: str, body: bytes, code: str) -> None:
    answer = raw(apis("qwen3-4b"), path, body)
    assert_refused(answer, 400, code)
    assert answer[2]["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("more", "status", "code", "param"),
    [
        ({"stream": True, "model": "gpt-9"}, 404, "model_not_found", "model"),
        ({"stream": "yes"}, 400, "invalid_parameter", "stream"),
        ({"stream": True, "max_completion_tokens": 8192}, 400, "invalid_parameter", "max_completion_tokens"),
        (
            {"stream": True, "messages": [{"role": "user", "content": "word " * 9000}]},
            400,
            "context_length_exceeded",
            None,
        ),
    ],
)
def test_a_refused_stream_has_a_status(
    apis: Apis, more: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    answer = apis("qwen3-4b").call("POST", "/chat/completions", CHAT | more)
    assert_refused(answer, status, code)
    assert answer[2]["error"]["param"] == param


@pytest.mark.parametrize(
    ("name", "path", "asked"),
    [
        ("qwen3-4b", "/chat/completions", CHAT),
        ("qwen3-4b", "/generate", CHAT),
        ("gpt2", "/generate", {"inputs": "A list of", "parameters": {"max_new_tokens": 6}}),
    ],
    ids=["chat", "generate", "tokens"],
)
@pytest.mark.parametrize("fault", ["engine_error", "engine_end"])
def test_a_stream_that_breaks_off_ends_with_an_error(
    apis: Apis, cloud: LocalCloud, name: str, path: str, asked: dict[str, Any], fault: str
) -> None:
    OrderedFaults(cloud).order("sagemaker-runtime", "InvokeEndpointWithResponseStream", fault, tokens=2)
    status, _, text = raw(apis(name), path, json.dumps(asked | {"stream": True}).encode())
    *others, last, end = [json.loads(event.removeprefix("data: ") or "null") for event in text.split("\n\n")]
    assert (status, end) == (200, None)
    assert len(others) >= 2
    assert not any("error" in each for each in others)
    assert last["error"]["code"] == "model_error"


def test_a_body_over_the_limit_is_a_413(apis: Apis) -> None:
    body = json.dumps({"inputs": "x" * 131073}).encode()
    assert_refused(raw(apis("gpt2"), "/generate", body), 413, "body_too_large", "131072")


def test_a_body_over_the_limit_of_the_gateway_is_a_413(apis: Apis) -> None:
    assert_refused(
        raw(apis("gpt2"), "/generate", b"x" * (10 * 1024 * 1024 + 1)), 413, "body_too_large", "The body is too large"
    )


def test_another_content_type_is_a_415(apis: Apis) -> None:
    answer = raw(apis("gpt2"), "/generate", b'{"inputs": "a"}', "text/plain")
    assert_refused(answer, 415, "unsupported_media_type", "application/json")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"inputs": "a", "parameters": {"max_new_tokens": 8192}}, "invalid_parameter", "parameters.max_new_tokens"),
        ({**CHAT, "max_tokens": 8192}, "invalid_parameter", "max_tokens"),
        ({"inputs": "word " * 9000}, "context_length_exceeded", None),
        ({"prompt": "word " * 8000, "max_tokens": 8000}, "context_length_exceeded", None),
        ({**CHAT, "model": "gpt-4"}, "rejected_by_model", "model"),
    ],
)
def test_a_mistake_of_the_caller_that_lmi_calls_a_failure_is_a_400(
    apis: Apis, body: dict[str, Any], code: str, field: str | None
) -> None:
    answer = apis("qwen3-4b").call("POST", "/generate", body)
    assert_refused(answer, 400, code)
    assert answer[2]["error"].get("field") == field


def test_a_job_that_the_model_refuses_is_tried_once(apis: Apis) -> None:
    client = apis("qwen3-4b")
    job = ended(client, client.call("POST", "/jobs", {**CHAT, "model": "gpt-4"})[2])
    assert (job["status"], job["error"]["code"], job["error"]["field"]) == ("failed", "rejected_by_model", "model")


def test_a_container_that_exits_during_a_call_is_a_502(apis: Apis, cloud: LocalCloud) -> None:
    client = apis("slow")
    body = {"inputs": "a", "parameters": {"max_new_tokens": 20}}
    with ThreadPoolExecutor(1) as caller:
        answer = caller.submit(client.call, "POST", "/generate", body)
        asked = wait_for(lambda: [each for each in containers(cloud, "slow") if each["outstanding"]] or None, "a call")
        os.kill(asked[0]["pid"], signal.SIGKILL)
        assert_refused(answer.result(), 502, "model_error", "container ended")
    one_token = {"inputs": "a", "parameters": {"max_new_tokens": 1}}
    wait_for(lambda: client.call("POST", "/generate", one_token)[0] == 200 or None, "the container")


def stopped_at_its_start(cloud: LocalCloud, name: str) -> int:
    """Kill the stack's only container, stop the next one before it answers a ping, and return its process."""

    def stop() -> int | None:
        (each,) = containers(cloud, name)
        if each["status"] == "InService":
            os.kill(each["pid"], signal.SIGKILL)
            wait_for(lambda: containers(cloud, name)[0]["pid"] != each["pid"] or None, "the next container")
            return None
        os.kill(each["pid"], signal.SIGSTOP)
        if containers(cloud, name)[0]["status"] == "Starting":
            return int(each["pid"])
        os.kill(each["pid"], signal.SIGCONT)
        return None

    return wait_for(stop, "a container that starts")


def test_callers_who_agree_to_wait_are_answered_after_a_dead_container(apis: Apis, cloud: LocalCloud) -> None:
    client = apis("qwen3-4b")
    before = len(client.call("GET", "/jobs")[2]["jobs"])
    container = stopped_at_its_start(cloud, "qwen3-4b")
    try:
        assert_refused(client.call("POST", "/chat/completions", CHAT), 503, "model_starting")
        with ThreadPoolExecutor(1) as caller:
            answer = caller.submit(client.call, "POST", "/chat/completions?wait=120", CHAT)
            wait_for(lambda: len(client.call("GET", "/jobs")[2]["jobs"]) > before or answer.done() or None, "a job")
            os.kill(container, signal.SIGCONT)
            status, _, found = answer.result()
    finally:
        os.kill(container, signal.SIGCONT)
    assert (status, found["object"], found["model"]) == (200, "chat.completion", "Qwen/Qwen3-4B")


@pytest.mark.parametrize(("method", "path"), [("POST", "/generate"), ("GET", "/endpoint")])
def test_an_unsigned_request_is_a_403(apis: Apis, method: str, path: str) -> None:
    answer = replace(apis("gpt2"), credentials=None).call(method, path)
    assert_refused(answer, 403, "no_such_route_or_not_signed", "No such route, or the request is not signed")


@pytest.mark.parametrize(("method", "path"), [("GET", "/generate"), ("POST", "/generat"), ("GET", "/"), ("GET", "/v2")])
def test_an_unknown_route_is_a_403_that_names_the_known_ones(apis: Apis, method: str, path: str) -> None:
    assert_refused(
        apis("gpt2").call(method, path),
        403,
        "no_such_route_or_not_signed",
        "POST /generate, POST or GET /jobs, GET or DELETE /jobs/{id}, or GET /endpoint",
    )


@pytest.mark.parametrize(("method", "path"), [("POST", "/generate"), ("GET", "/endpoint")])
def test_a_wrong_signature_is_a_403(apis: Apis, method: str, path: str) -> None:
    client = apis("gpt2")
    assert client.credentials
    wrong = replace(client, credentials=replace(client.credentials, secret_access_key="wrong"))
    assert_refused(wrong.call(method, path), 403, "invalid_signature", "secret key")
    assert_refused(replace(client, region="eu-west-1").call(method, path), 403, "invalid_signature", "region")


@pytest.mark.parametrize(("method", "path"), [("POST", "/generate"), ("GET", "/endpoint")])
def test_a_caller_without_permission_is_a_403(apis: Apis, cloud: LocalCloud, method: str, path: str) -> None:
    nobody = cloud.create_user("nobody", [{"Effect": "Deny", "Action": "s3:*", "Resource": "*"}])
    answer = replace(apis("gpt2"), credentials=nobody).call(method, path)
    assert_refused(answer, 403, "access_denied", "execute-api:Invoke")


def test_a_caller_may_be_bound_to_one_route(apis: Apis, cloud: LocalCloud) -> None:
    client = apis("gpt2")
    route = f"arn:aws:execute-api:{client.region}:*:*/v1/GET/endpoint"
    reader = cloud.create_user("reader", [{"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": route}])
    bound = replace(client, credentials=reader)
    assert bound.call("GET", "/endpoint")[0] == 200
    assert_refused(bound.call("POST", "/generate", {"inputs": "a"}), 403, "access_denied")


def test_a_root_like_key_is_refused(apis: Apis) -> None:
    answer = replace(apis("gpt2"), credentials=Credentials("111122223333", "any")).call("GET", "/endpoint")
    assert_refused(answer, 403, "request_refused", "credentials")


@pytest.mark.parametrize("key", [None, "wrong-key-that-is-long-enough"])
def test_a_missing_or_wrong_api_key_is_a_401(apis: Apis, key: str | None) -> None:
    client = replace(apis("with-api-key"), api_key=key)
    assert_refused(client.call("GET", "/endpoint"), 401, "invalid_api_key", "x-api-key")


def test_requests_beyond_the_quota_of_a_key_are_a_429_that_says_when_to_come_back(
    cloud: LocalCloud, stacks: dict[str, Stack]
) -> None:
    client = deployed(cloud, replace(stacks["with-api-key"], name="used-up"))
    answers = [client.call("GET", "/endpoint") for _ in range(13)]
    assert {answer[0] for answer in answers[:-1]} == {200}
    assert_refused(answers[-1], 429, "quota_exceeded", "next period")


def test_half_a_surrogate_is_a_400(apis: Apis) -> None:
    assert_refused(raw(apis("gpt2"), "/generate", b'{"inputs": "\\ud800"}'), 400, "invalid_json", "surrogate")


def test_the_access_log_has_every_request_and_no_prompt(apis: Apis, cloud: LocalCloud) -> None:
    client = apis("gpt2")
    canary = "canary-7f3a"
    _, headers, _ = client.call("POST", "/generate", {"inputs": canary, "parameters": {"max_new_tokens": 3}})
    _, refused, _ = replace(client, credentials=None).call("POST", "/generate", {"inputs": canary})
    logs = cloud.client("logs", region=client.region)
    groups = logs.get_paginator("describe_log_groups").paginate().search("logGroups[].logGroupName")
    lines = [event["message"] for group in groups for event in logs.filter_log_events(logGroupName=group)["events"]]
    text = "\n".join(lines)
    assert headers["x-request-id"] in text
    assert refused["x-request-id"] in text
    assert canary not in text

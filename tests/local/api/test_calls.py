"""Calls to deployed APIs over real HTTP: the happy paths of both engines and of every kind of authorization."""

import json
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.hostile_chunks import events_of
from support.stacks.deployed_stacks import Apis, ended


def texts(answer: Any) -> list[str]:
    """Return the generated texts of an answer in any engine's shape."""
    if isinstance(answer, list):
        return [each["generated_text"] for each in answer]
    if "choices" in answer:
        return [each.get("text") or each["message"]["content"] for each in answer["choices"]]
    return [answer["generated_text"]]


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b", "pools", "with-api-key", "open"])
def test_a_prompt_is_answered(apis: Apis, name: str) -> None:
    client: ApiClient = apis(name)
    status, headers, answer = client.call(
        "POST", "/generate", {"inputs": "The list of", "parameters": {"max_new_tokens": 5}}
    )
    assert status == 200
    assert len(texts(answer)[0].split()) >= 1
    assert headers["content-type"].startswith("application/json")
    assert len(headers["x-request-id"]) > 10


def test_a_prompt_is_answered_by_a_job_if_only_jobs_reach_the_model(apis: Apis) -> None:
    client: ApiClient = apis("qwen3-4b-async")
    status, headers, answer = client.call("POST", "/generate?wait=25", {"inputs": "The list of"})
    if status == 202:  # the model was not up in time
        assert headers["location"] == f"jobs/{answer['id']}"
        answer = ended(client, answer)["output"]
    assert texts(answer)[0]


def test_a_job_answers_openais_routes_whole_and_as_chunks(apis: Apis) -> None:
    client: ApiClient = apis("qwen3-4b-async")
    chat = {"model": "Qwen/Qwen3-4B", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
    status, _, answer = client.call("POST", "/chat/completions?wait=300", chat)
    assert (status, answer["object"], answer["model"]) == (200, "chat.completion", "Qwen/Qwen3-4B")
    body = json.dumps(chat | {"stream": True}).encode()
    with client.open("POST", "/chat/completions", body, {"content-type": "application/json"}) as stream:
        lines = [line for line in stream if line.strip()]
    comment, *events = [line for line in lines if not line.startswith(b": waiting")]
    assert comment.startswith(b": the model")
    assert events[-1] == b"data: [DONE]\n"
    chunks = [json.loads(event.removeprefix(b"data: ")) for event in events[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert len(client.call("GET", "/jobs")[2]["jobs"]) >= 2, "they are jobs of the caller"


@pytest.mark.parametrize("name", ["qwen3-4b", "qwen3-4b-async"])
def test_a_response_is_answered_whole_and_as_events(apis: Apis, name: str) -> None:
    client: ApiClient = apis(name)
    asked = {"model": "Qwen/Qwen3-4B", "input": "What is a list?", "max_output_tokens": 5}
    status, _, answer = client.call("POST", "/responses?wait=300", asked)
    assert (status, answer["object"], answer["status"]) == (200, "response", "incomplete")
    assert answer["usage"]["output_tokens"] == 5
    body = json.dumps(asked | {"stream": True}).encode()
    with client.open("POST", "/responses", body, {"content-type": "application/json"}) as stream:
        raw = stream.read()
    first, *_, last = events_of(raw)
    assert (first["type"], last["type"]) == ("response.created", "response.incomplete")
    assert [item["type"] for item in last["response"]["output"]] == ["message"]


@pytest.mark.parametrize("composition", ["no slashes", "behind the name", "folder"])
def test_an_output_is_found_however_sagemaker_composes_its_name(
    cloud: LocalCloud, apis: Apis, composition: str
) -> None:
    client: ApiClient = apis("qwen3-4b-async")
    requests.post(f"{cloud.url}/_slipway/output-composition", json=composition, timeout=30).raise_for_status()
    status, _, answer = client.call("POST", "/jobs?wait=25", {"inputs": "The list of"})
    assert status in (200, 202)
    assert texts(ended(client, answer)["output"])[0]


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b", "pools", "with-api-key", "open"])
def test_the_endpoint_describes_itself(apis: Apis, name: str) -> None:
    status, headers, answer = apis(name).call("GET", "/endpoint")
    assert status == 200
    assert answer["status"] == "InService"
    assert answer["mode"] == "realtime"
    assert answer["name"].startswith(f"{name}-")
    assert answer["invocation_url"].endswith(f"/endpoints/{answer['name']}/invocations")
    assert "x-request-id" in headers


def test_the_invocation_url_answers_signed_callers(cloud: LocalCloud, apis: Apis) -> None:
    where = apis("gpt2").call("GET", "/endpoint")[2]["invocation_url"]
    headers = {"content-type": "application/json"}
    request = AWSRequest("POST", where, headers=headers, data=b'{"inputs": "A list is"}')
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    SigV4Auth(key, "sagemaker", "us-east-1").add_auth(request)
    answer = requests.post(where, request.data, headers=dict(request.headers), timeout=30)
    assert (answer.status_code, list(answer.json()[0])) == (200, ["generated_text"])


def test_the_requests_of_system_a_work_word_for_word(apis: Apis) -> None:
    client: ApiClient = apis("gpt2")
    status, _, answer = client.call(
        "POST", "/generate", {"inputs": "Can you please let us know more details about your "}
    )
    assert status == 200
    assert texts(answer)
    status, _, answer = client.call("GET", "/endpoint")
    assert (status, answer["model_id"], answer["engine"]) == (200, "openai-community/gpt2", "tgi")


def test_a_chat_and_a_completion_are_answered_in_the_shape_of_openai(apis: Apis) -> None:
    client: ApiClient = apis("qwen3-4b")
    chat = {"messages": [{"role": "user", "content": "What is a module?"}], "max_tokens": 8}
    status, _, answer = client.call("POST", "/generate", chat)
    assert (status, answer["object"]) == (200, "chat.completion")
    assert answer["usage"]["completion_tokens"] <= 8
    status, _, answer = client.call("POST", "/generate", {"prompt": "A module is", "max_tokens": 8})
    assert (status, answer["object"]) == (200, "text_completion")


@pytest.mark.parametrize("name", ["Qwen/Qwen3-4B", "lmi"])
def test_a_client_may_name_the_model_by_its_id_or_as_the_container_does(apis: Apis, name: str) -> None:
    client: ApiClient = apis("qwen3-4b")
    body = {"model": name, "messages": [{"role": "user", "content": "What is a module?"}], "max_tokens": 8}
    status, _, answer = client.call("POST", "/generate", body)
    assert (status, answer["model"]) == (200, client.call("GET", "/endpoint")[2]["model_id"])
    job = ended(client, client.call("POST", "/jobs", body)[2])
    assert (job["status"], job["output"]["model"]) == ("succeeded", answer["model"])


def test_a_list_of_prompts_gets_a_list_of_answers(apis: Apis) -> None:
    body = {"inputs": ["A list is", "A tuple is"], "parameters": {"max_new_tokens": 4}}
    status, _, answer = apis("qwen3-4b").call("POST", "/generate", body)
    assert (status, len(texts(answer))) == (200, 2)


def test_the_same_seed_gives_the_same_text(apis: Apis) -> None:
    parameters = {"max_new_tokens": 12, "do_sample": True, "temperature": 0.9, "seed": 11}
    body = {"inputs": "The function returns", "parameters": parameters}
    answers = [texts(apis("gpt2").call("POST", "/generate", body)[2]) for _ in range(2)]
    other = {"inputs": "The function returns", "parameters": {**parameters, "seed": 12}}
    assert answers[0] == answers[1] != texts(apis("gpt2").call("POST", "/generate", other)[2])


def test_a_chat_is_streamed_to_clients_of_openai_whatever_the_engine_sends(apis: Apis) -> None:
    client: ApiClient = apis("qwen3-4b")
    body = {"model": "Qwen/Qwen3-4B", "messages": [{"role": "user", "content": "What is a module?"}], "max_tokens": 5}
    whole = client.call("POST", "/chat/completions", body)[2]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    status, headers, raw = client.send(
        "POST", "/chat/completions", json.dumps(body | options).encode(), {"content-type": "application/json"}
    )
    *events, done, _ = raw.split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert (status, headers["content-type"], done) == (200, "text/event-stream", "data: [DONE]")
    assert {chunk["model"] for chunk in chunks} == {whole["model"]} == {"Qwen/Qwen3-4B"}
    said = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks[:-1])
    assert said.strip() == whole["choices"][0]["message"]["content"]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], whole["usage"])


def test_the_model_is_listed_and_answers_now(apis: Apis) -> None:
    client: ApiClient = apis("qwen3-4b")
    listed = client.call("GET", "/models")[2]["data"]
    assert [(model["id"], model["status"]) for model in listed] == [("Qwen/Qwen3-4B", "ready")]
    assert client.call("GET", "/models/Qwen/Qwen3-4B")[2] == listed[0]

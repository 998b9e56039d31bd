"""LiteLLM's own proxy, with the configuration that `slipway gateway` writes, in front of several deployments.

One is healthy, one sleeps, one is broken, the key of one is used up, and one makes vectors. The healthy one answers for
those that refuse.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from anthropic import Anthropic

from .conftest import ROOT, Served
from .test_openai import MODEL

ASLEEP, BROKEN, USED_UP = "Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B", "Qwen/Qwen3-4B-GGUF"
VECTORS = "BAAI/bge-small-en-v1.5"
DEPLOYMENTS = {
    "lmi": MODEL,
    "gateway-asleep": ASLEEP,
    "gateway-broken": BROKEN,
    "llama-cpp": USED_UP,
    "gateway-vectors": VECTORS,
}
REFUSING = ("gateway-asleep", "gateway-broken", "llama-cpp")
KEY = "sk-a-key-of-the-gateway"
QUESTION: list[Any] = [{"role": "user", "content": "What is a list?"}]
START_IN_SECONDS = 300
LITELLM = ROOT / ".venv-clients" / "litellm" / "bin" / "litellm"


@pytest.fixture(scope="module")
def gateway(served: Mapping[str, Served], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the proxy, and return its URL."""
    folder = tmp_path_factory.mktemp("gateway")
    _configure(served["lmi"].environment, folder / "config.yaml")
    keys = {f"SLIPWAY_KEY_{name.upper().replace('-', '_')}": served[name].key for name in DEPLOYMENTS}
    keys["SLIPWAY_KEY_LLAMA_CPP"] = _used_up(served["llama-cpp"])
    own = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1"}
    port = _free_port()
    command = [str(LITELLM), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=os.environ | keys | own, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait_until_alive(url, process, folder / "log")
            yield url
        finally:
            process.terminate()
            process.wait()


def _configure(operator: Mapping[str, str], config: Path) -> None:
    """Write the proxy's configuration with the command line."""
    slipway = [str(ROOT / ".venv" / "bin" / "python"), "-m", "slipway", "gateway", ",".join(DEPLOYMENTS)]
    fallbacks = [f"--fallback={name}=lmi" for name in REFUSING]
    command = [*slipway, *fallbacks, "--output", str(config)]
    subprocess.run(command, cwd=ROOT, env=os.environ | dict(operator), check=True)


def _used_up(api: Served) -> str:
    """Return a key that may make no more requests this month."""
    headers = {"authorization": f"Bearer {api.keys['spent']}"}
    asked = {"messages": QUESTION, "max_tokens": 3}
    answers = [httpx2.post(f"{api.url}chat/completions", headers=headers, json=asked, timeout=60) for _ in range(2)]
    assert answers[-1].status_code == 429
    return api.keys["spent"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_until_alive(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_IN_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url.replace("/v1", "/health/liveliness"), timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture
def sdk(gateway: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gateway, api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic(gateway: str) -> Iterator[Anthropic]:
    with Anthropic(base_url=gateway.removesuffix("/v1"), api_key=KEY) as client:
        yield client


def asked(model: str) -> dict[str, Any]:
    return {"model": model, "messages": QUESTION, "max_tokens": 6}


def text_of(chunks: Any) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def test_all_models_are_behind_one_address(sdk: openai.OpenAI) -> None:
    assert {each.id for each in sdk.models.list()} >= {*DEPLOYMENTS.values()}


def test_a_caller_without_a_key_of_the_gateway_is_refused(gateway: str) -> None:
    """LiteLLM looks for keys that are not its own in a database, and has none here: it answers 400, not 401."""
    with openai.OpenAI(base_url=gateway, api_key="sk-another") as client, pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**asked(MODEL))


def test_it_chats(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(**asked(MODEL))
    assert answer.choices[0].message.content
    assert answer.usage
    assert answer.usage.completion_tokens == 6


def test_it_streams(sdk: openai.OpenAI) -> None:
    chunks = list(sdk.chat.completions.create(**asked(MODEL), stream=True))
    assert len(chunks) > 6
    assert text_of(chunks)


def test_responses_pass_whole_and_as_a_stream(sdk: openai.OpenAI) -> None:
    answer = sdk.responses.create(model=MODEL, input="What is a list?", max_output_tokens=16)
    assert answer.output_text
    events = list(sdk.responses.create(model=MODEL, input="What is a list?", max_output_tokens=16, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type in ("response.completed", "response.incomplete")
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta")


def test_messages_of_anthropics_client_pass_whole_and_as_a_stream(anthropic: Anthropic) -> None:
    whole = anthropic.messages.create(model=MODEL, max_tokens=6, messages=QUESTION)
    assert whole.content[0].type == "text"
    assert whole.content[0].text
    assert (whole.stop_reason, whole.usage.output_tokens) == ("max_tokens", 6)
    with anthropic.messages.stream(model=MODEL, max_tokens=6, messages=QUESTION) as stream:
        assert len(list(stream.text_stream)) > 1
        assert stream.get_final_message().stop_reason == "max_tokens"


def test_messages_call_tools(anthropic: Anthropic) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools: list[Any] = [{"name": "get_weather", "description": "Tells the weather", "input_schema": schema}]
    choice: Any = {"type": "tool", "name": "get_weather"}
    answer = anthropic.messages.create(model=MODEL, max_tokens=100, messages=QUESTION, tools=tools, tool_choice=choice)
    called = [each for each in answer.content if each.type == "tool_use"]
    assert [each.name for each in called] == ["get_weather"]


def test_texts_become_vectors(sdk: openai.OpenAI) -> None:
    texts = ["A list is a sequence.", "A list is a kind of sequence.", "Whales swim."]
    answer = sdk.embeddings.create(model=VECTORS, input=texts)
    assert [each.index for each in answer.data] == [0, 1, 2]
    first, near, far = (each.embedding for each in answer.data)
    assert product(first, near) > product(first, far)


def product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("model", [BROKEN, USED_UP], ids=["503", "429"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_another_model_answers_for_one_that_refuses(
    gateway: str, served: Mapping[str, Served], model: str, *, stream: bool
) -> None:
    assert answered_by(gateway, asked(model) | {"stream": stream}) == served["lmi"].url.rstrip("/")


def test_another_model_answers_at_once_for_one_that_sleeps_and_a_stream_waits_for_it(
    gateway: str, served: Mapping[str, Served]
) -> None:
    """The order matters: the first request finds the model asleep."""
    assert answered_by(gateway, asked(ASLEEP) | {"stream": False}) == served["lmi"].url.rstrip("/")
    assert not _succeeded(served["gateway-asleep"])
    answered_by(gateway, asked(ASLEEP) | {"stream": True}, fallbacks=0)
    assert _succeeded(served["gateway-asleep"]), "another model answered the stream"


def _succeeded(api: Served) -> list[dict[str, Any]]:
    """Return the jobs that the API's model has answered."""
    jobs = httpx2.get(f"{api.url}jobs", headers={"x-api-key": api.key}, timeout=60).json()["jobs"]
    return [job for job in jobs if job["status"] == "succeeded"]


def answered_by(gateway: str, body: dict[str, Any], *, fallbacks: int = 1) -> str | None:
    """Ask the gateway, and return the URL of the API whose answer it gives.

    None for a stream that had to wait: LiteLLM then sends its own headers before it knows who answers.
    """
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx2.post(f"{gateway}/chat/completions", headers=headers, json=body, timeout=120)
    assert answer.status_code == 200, answer.text
    if body["stream"]:
        events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
        assert events[-1] == "[DONE]"
        assert any(choice["delta"].get("content") for each in events[:-1] for choice in json.loads(each)["choices"])
    else:
        assert answer.json()["choices"][0]["message"]["content"]
    if "x-litellm-model-api-base" not in answer.headers:
        assert ": " in answer.text.partition("data: ")[0], "it waited without a sign of life"
        return None
    assert answer.headers["x-litellm-attempted-fallbacks"] == str(fallbacks)
    return str(answer.headers["x-litellm-model-api-base"])

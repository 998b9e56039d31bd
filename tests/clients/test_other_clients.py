"""Clients that build on OpenAI's API, unmodified: LangChain, LiteLLM, llm and huggingface_hub."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import InferenceClient
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI

from .conftest import ROOT, Served
from .test_openai import ASKED, MODEL, WEATHER

QUESTION = "What is a list?"
BINARIES = ROOT / ".venv-clients" / "bin"


def test_langchain_invokes_streams_and_calls_tools(lmi: Served) -> None:
    model = ChatOpenAI(base_url=lmi.url, api_key=lmi.key, model=MODEL, max_completion_tokens=100, stream_usage=True)
    answer = model.invoke(QUESTION)
    assert answer.content
    assert answer.response_metadata["model_name"] == MODEL
    pieces = list(model.stream(QUESTION))
    assert len(pieces) > 2
    assert any(piece.usage_metadata for piece in pieces)

    with_tools = model.bind_tools([WEATHER], tool_choice="get_weather")
    (call,) = with_tools.invoke(QUESTION).tool_calls
    assert (call["name"], call["args"].keys()) == ("get_weather", {"city"})
    whole = AIMessageChunk("")
    for piece in with_tools.stream(QUESTION):
        whole += piece
    (call,) = whole.tool_calls
    assert (call["name"], call["args"].keys()) == ("get_weather", {"city"})


@pytest.mark.parametrize(("name", "tools"), [("lmi", [WEATHER]), ("ec2", [])])
@pytest.mark.usefixtures("ec2")
def test_litellm_completes_streams_and_calls_tools(
    served: Mapping[str, Served], name: str, tools: list[dict[str, Any]]
) -> None:
    """LiteLLM has its own environment, because it needs an older SDK than the others."""
    python = BINARIES.parent / "litellm" / "bin" / "python"
    own = {"API_URL": served[name].url, "API_KEY": served[name].key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    program = Path(__file__).with_name("litellm_calls.py")
    command = [str(python), str(program), json.dumps(ASKED | {"seed": 3}), json.dumps(tools)]
    result = subprocess.run(command, env=os.environ | own, stdout=subprocess.PIPE, text=True, check=True)
    said = json.loads(result.stdout)
    assert "".join(said["streamed"]).strip() == said["whole"].strip() != ""
    assert said["usage"] > 0
    assert said["called"] == [tool["function"]["name"] for tool in tools]
    assert said["refused"] == 401


@pytest.mark.parametrize("name", ["lmi", "ec2"])
@pytest.mark.usefixtures("ec2")
def test_llm_answers_on_the_command_line(served: Mapping[str, Served], name: str, tmp_path: Path) -> None:
    own = {"model_id": "ours", "model_name": MODEL, "api_base": served[name].url, "api_key_name": "ours"}
    (tmp_path / "extra-openai-models.yaml").write_text(yaml.safe_dump([own]))
    (tmp_path / "keys.json").write_text(json.dumps({"ours": served[name].key}))
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path)}
    for option in ([], ["--no-stream"]):
        command = [str(BINARIES / "llm"), "-m", "ours", *option, QUESTION]
        assert subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout.strip()


def test_huggingface_hub_sends_no_model_name_by_default(served: Mapping[str, Served]) -> None:
    api = served["tgi"]
    client = InferenceClient(base_url=api.url, api_key=api.key)
    assert client.chat_completion([{"role": "user", "content": QUESTION}], max_tokens=6).model == MODEL


def test_huggingface_hub_chats_and_streams(lmi: Served) -> None:
    client = InferenceClient(base_url=lmi.url, api_key=lmi.key)
    whole = client.chat.completions.create(**ASKED | {"seed": 3})
    pieces = list(client.chat.completions.create(**ASKED | {"seed": 3}, stream=True))
    texts = [choice.delta.content for piece in pieces for choice in piece.choices if choice.delta.content]
    assert "".join(texts).strip() == (whole.choices[0].message.content or "").strip() != ""

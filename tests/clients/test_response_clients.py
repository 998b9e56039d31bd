"""Clients that ask for /responses by default, unmodified: openai-agents, LangChain, Vercel's AI SDK and Codex."""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic
import pytest
from agents import Agent, Runner, function_tool
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from .conftest import Served
from .test_openai import CHATTING, MODEL

HERE = Path(__file__).parent
CALL = 'Call get_weather {"city": "Rome"}'
QUESTION = "What is a list?"


class City(pydantic.BaseModel):
    """A city."""

    city: str


def test_openai_agents_run_with_a_tool_whole_streamed_and_typed(lmi: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", lmi.url)
    monkeypatch.setenv("OPENAI_API_KEY", lmi.key)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")

    def get_weather(city: str) -> str:
        """Return the weather."""
        return f"sunny in {city}"

    model = f"openai/{MODEL}"  # the SDK takes the part before the first slash for the name of a provider
    agent = Agent(name="Weather", instructions="Be brief.", tools=[function_tool(get_weather)], model=model)

    async def run() -> None:
        whole = await Runner.run(agent, CALL)
        assert whole.final_output.startswith("sunny in Rome")
        streamed = Runner.run_streamed(agent, CALL)
        events = [event async for event in streamed.stream_events()]
        assert streamed.final_output.startswith("sunny in Rome")
        assert len([event for event in events if event.type == "raw_response_event"]) > 10
        turns = [*streamed.to_input_list(), {"role": "user", "content": "And tomorrow?"}]
        assert (await Runner.run(agent, turns)).final_output
        typed = await Runner.run(Agent(name="City", model=model, output_type=City), "Where?")
        assert isinstance(typed.final_output, City)

    asyncio.run(run())


@pytest.mark.parametrize("name", ["lmi", "tgi", "llama-cpp"])
def test_langchain_invokes_streams_calls_tools_and_parses(served: Mapping[str, Served], name: str) -> None:
    api = served[name]
    model = ChatOpenAI(base_url=api.url, api_key=api.key, model=CHATTING[name], use_responses_api=True)
    answer = model.invoke(QUESTION)
    assert answer.text
    assert answer.response_metadata["model_name"] == CHATTING[name]
    assert answer.usage_metadata
    pieces = list(model.stream(QUESTION))
    assert len(pieces) > 2
    assert any(piece.usage_metadata for piece in pieces)

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    with_tools = model.bind_tools([{"type": "function", "function": {"name": "get_weather", "parameters": schema}}])
    asked = with_tools.invoke(CALL)
    (call,) = asked.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Rome"})
    whole = AIMessageChunk("")
    for piece in with_tools.stream(CALL):
        whole += piece
    assert [(each["name"], each["args"]) for each in whole.tool_calls] == [("get_weather", {"city": "Rome"})]
    turns = [HumanMessage(CALL), asked, ToolMessage("sunny, 22", tool_call_id=call["id"])]
    assert with_tools.invoke(turns).text.startswith("sunny, 22")
    assert isinstance(model.with_structured_output(City).invoke("Where?"), City)


@pytest.mark.parametrize("name", ["lmi", "tgi", "llama-cpp"])
def test_vercels_ai_sdk_generates_streams_loops_and_parses(served: Mapping[str, Served], name: str) -> None:
    own = {"API_URL": served[name].url, "API_KEY": served[name].key, "MODEL": CHATTING[name]}
    said = json.loads(_run(["node", "ai_sdk_calls.mjs"], os.environ | own))
    assert said["whole"] == "".join(said["pieces"])
    assert len(said["pieces"]) > 2
    assert said["second"]
    assert said["usage"]["totalTokens"] > 0
    assert all(text.startswith("sunny in Rome") for text in said["loops"])
    assert said["structured"].keys() == {"city", "days"}


@pytest.mark.parametrize("name", ["lmi", "tgi", "llama-cpp"])
def test_codex_runs_the_command_that_the_model_calls(served: Mapping[str, Served], name: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        f"""
        model = "{CHATTING[name]}"
        model_provider = "slipway"
        web_search = "disabled"
        sandbox_mode = "danger-full-access"  # a test may run where no sandbox can be made
        check_for_update_on_startup = false
        [model_providers.slipway]
        name = "Slipway"
        base_url = "{served[name].url}"
        env_key = "SLIPWAY_KEY"
        wire_api = "responses"
        """
    )
    home = {"CODEX_HOME": str(tmp_path), "HOME": str(tmp_path), "SLIPWAY_KEY": served[name].key}
    asked = 'Call exec_command {"cmd": "echo $((6 * 7))-from-tool"}'
    options = ["--json", "--skip-git-repo-check", "--cd", str(tmp_path)]
    printed = _run(["node_modules/.bin/codex", "exec", *options, asked], os.environ | home)
    events = [json.loads(line) for line in printed.splitlines()]
    items: list[dict[str, Any]] = [event["item"] for event in events if event["type"] == "item.completed"]
    (command,) = [item for item in items if item["type"] == "command_execution"]
    assert command["exit_code"] == 0
    (message,) = [item for item in items if item["type"] == "agent_message"]
    assert "42-from-tool" in message["text"]
    assert events[-1]["type"] == "turn.completed"
    assert events[-1]["usage"]["output_tokens"] > 0


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    """Run a client of Node.js, and return what it prints."""
    return subprocess.run(
        command, cwd=HERE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True
    ).stdout

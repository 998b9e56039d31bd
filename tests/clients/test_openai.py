"""OpenAI's own SDK, unmodified: answers whole and streamed, from every engine that we stream."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import openai
import pytest

from support.pictures import data_url, png

from .conftest import Served

MODEL = "Qwen/Qwen3-4B"
ASKED: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "What is a list?"}],
    "max_tokens": 6,
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
# Fields that frameworks send along, each with a value that asks for nothing.
UNASKED: dict[str, Any] = {
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logit_bias": {},
    "n": 1,
    "logprobs": False,
    "tools": [],
    "response_format": {"type": "text"},
    "metadata": {"program": "test"},
    "store": False,
    "service_tier": "auto",
}
CHATTING = {"lmi": MODEL, "tgi": MODEL, "vllm": MODEL, "sglang": MODEL, "llama-cpp": "Qwen/Qwen3-4B-GGUF"}
COMPLETING = {"lmi": MODEL, "tgi": MODEL, "vllm": MODEL, "tgi-inputs": "openai-community/gpt2"}


def sdk(api: Served, **settings: Any) -> openai.OpenAI:
    """Make the SDK's client as callers do, but without retries, which would hide a fault."""
    return openai.OpenAI(**{"base_url": api.url, "api_key": api.key, "max_retries": 0, **settings})


@pytest.mark.parametrize("name", CHATTING)
def test_a_chat_comes_whole_and_streamed(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | {"model": CHATTING[name], "seed": 3}
    whole = sdk(served[name]).chat.completions.create(**asked)
    assert whole.object == "chat.completion"
    assert whole.model == CHATTING[name]
    assert whole.usage
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    chunks = list(sdk(served[name]).chat.completions.create(**asked, stream=True))
    assert {(chunk.object, chunk.model) for chunk in chunks} == {("chat.completion.chunk", CHATTING[name])}
    assert len({chunk.id for chunk in chunks}) == 1
    deltas = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert len(deltas) > 1
    assert "".join(deltas).strip() == (whole.choices[0].message.content or "").strip() != ""
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason == "length"
    assert [chunk for chunk in chunks if chunk.usage] == [], "nobody asked for it"


@pytest.mark.parametrize("name", COMPLETING)
def test_a_completion_comes_whole_and_streamed(served: Mapping[str, Served], name: str) -> None:
    asked: dict[str, Any] = {"model": COMPLETING[name], "prompt": "A list of the functions", "max_tokens": 6, "seed": 3}
    whole = sdk(served[name]).completions.create(**asked)
    assert (whole.object, whole.model) == ("text_completion", COMPLETING[name])
    chunks = list(sdk(served[name]).completions.create(**asked, stream=True))
    assert {(chunk.object, chunk.model) for chunk in chunks} == {("text_completion", COMPLETING[name])}
    texts = [choice.text for chunk in chunks for choice in chunk.choices if choice.text]
    assert len(texts) > 1
    assert "".join(texts).strip() == whole.choices[0].text.strip() != ""


@pytest.mark.parametrize("name", ["lmi", "vllm"])
def test_a_prompt_is_echoed_and_may_have_nothing_after_it(served: Mapping[str, Served], name: str) -> None:
    asked: dict[str, Any] = {"model": MODEL, "prompt": "A list of the functions", "echo": True, "logprobs": 1}
    (choice,) = sdk(served[name]).completions.create(**asked, max_tokens=0).choices
    assert choice.text == asked["prompt"]
    (choice,) = sdk(served[name]).completions.create(**asked, max_tokens=3).choices
    assert len(choice.text.removeprefix(asked["prompt"]).split()) == 3


@pytest.mark.parametrize("name", ["lmi", "tgi", "vllm", "sglang", "llama-cpp"])
def test_usage_comes_last_if_it_is_asked_for(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | {"model": CHATTING[name], "stream_options": {"include_usage": True}}
    *others, last = list(sdk(served[name]).chat.completions.create(**asked, stream=True))
    assert last.choices == []
    assert last.usage
    assert 0 < last.usage.completion_tokens <= 6
    assert last.usage.prompt_tokens > 0
    assert not any(chunk.usage for chunk in others)


@pytest.mark.parametrize("name", ["lmi", "tgi", "vllm", "sglang", "llama-cpp", "ec2"])
@pytest.mark.usefixtures("ec2")
def test_fields_that_frameworks_add_are_accepted_whole_and_streamed(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | UNASKED | {"model": ""}
    assert sdk(served[name]).chat.completions.create(**asked).choices[0].message.content
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = list(sdk(served[name]).chat.completions.create(**asked | options))
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert last.usage
    assert last.usage.completion_tokens == 6


def test_the_asynchronous_client_streams_several_at_once(served: Mapping[str, Served]) -> None:
    async def ask(client: openai.AsyncOpenAI, seed: int) -> str:
        stream = await client.chat.completions.create(**ASKED, seed=seed, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    async def ask_all() -> list[str]:
        api = served["vllm"]
        async with openai.AsyncOpenAI(base_url=api.url, api_key=api.key, max_retries=0) as client:
            whole = await client.chat.completions.create(**ASKED, seed=0)
            return [whole.choices[0].message.content or "", *await asyncio.gather(*(ask(client, n) for n in range(3)))]

    whole, again, *others = asyncio.run(ask_all())
    assert whole.strip() == again.strip() != ""
    assert all(others)


def test_a_tool_is_called(lmi: Served) -> None:
    chosen = {"type": "function", "function": {"name": "get_weather"}}
    asked = ASKED | {"max_tokens": 100, "tools": [WEATHER], "tool_choice": chosen}
    (call,) = sdk(lmi).chat.completions.create(**asked).choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments).keys() == {"city"}
    with sdk(lmi).chat.completions.stream(**asked) as stream:
        events = list(stream)
    (streamed,) = stream.get_final_completion().choices[0].message.tool_calls or []
    assert streamed.function.name == "get_weather"
    assert json.loads(streamed.function.arguments).keys() == {"city"}
    assert len([event for event in events if event.type == "tool_calls.function.arguments.delta"]) > 1
    result = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call.id, "content": "sun"}]
    after = sdk(lmi).chat.completions.create(**ASKED | {"messages": [*ASKED["messages"], *result], "tools": [WEATHER]})
    assert after.choices[0].message


def test_several_choices_a_stop_and_log_probabilities(lmi: Served) -> None:
    answer = sdk(lmi).chat.completions.create(**ASKED, n=2, logprobs=True, top_logprobs=2)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].logprobs
    assert answer.choices[0].logprobs.content
    chunks = list(sdk(lmi).chat.completions.create(**ASKED, n=2, logprobs=True, stream=True))
    assert {choice.index for chunk in chunks for choice in chunk.choices} == {0, 1}
    assert any(choice.logprobs and choice.logprobs.content for chunk in chunks for choice in chunk.choices)
    text = (sdk(lmi).chat.completions.create(**ASKED, seed=3).choices[0].message.content or "").split()
    stopped = sdk(lmi).chat.completions.create(**ASKED, seed=3, stop=[text[1]]).choices[0]
    assert stopped.finish_reason == "stop"
    assert text[1] not in (stopped.message.content or "").split()


def test_an_answer_has_the_asked_form(lmi: Served) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}}
    answer = sdk(lmi).chat.completions.create(**ASKED | {"max_tokens": 100}, response_format=form)
    assert json.loads(answer.choices[0].message.content or "").keys() == {"city"}


@pytest.mark.parametrize("name", [*CHATTING, "tgi-inputs", "asleep"])
def test_the_model_is_listed_and_found_by_its_id(served: Mapping[str, Served], name: str) -> None:
    (listed,) = sdk(served[name]).models.list().data
    assert listed.id == {**CHATTING, **COMPLETING, "asleep": MODEL}[name]
    assert listed.object == "model"
    assert sdk(served[name]).models.retrieve(listed.id) == listed


def test_a_chat_with_an_image_comes_whole_and_streamed(served: Mapping[str, Served]) -> None:
    image = {"type": "image_url", "image_url": {"url": data_url(png(640, 480)), "detail": "high"}}
    content = [{"type": "text", "text": "What is in it?"}, image]
    messages = [{"role": "user", "content": content}]
    asked: dict[str, Any] = {"model": "Qwen/Qwen3-VL-4B-Instruct", "messages": messages, "max_tokens": 6}
    whole = sdk(served["vision"]).chat.completions.create(**asked)
    assert (whole.choices[0].message.content or "").startswith("The image is 640x480.")
    assert whole.usage
    assert whole.usage.prompt_tokens > 300
    chunks = sdk(served["vision"]).chat.completions.create(**asked, stream=True)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text.strip().startswith("The image is 640x480.")
    image["image_url"] = {"url": "http://169.254.169.254/latest/meta-data/"}
    with pytest.raises(openai.BadRequestError) as caught:
        sdk(served["vision"]).chat.completions.create(**asked)
    assert caught.value.code == "invalid_input"

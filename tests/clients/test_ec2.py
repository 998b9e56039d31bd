"""Clients on an EC2 machine. Our server refuses unknown fields, so it must know those that clients always send."""

from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI

from .conftest import Served
from .test_openai import ASKED, MODEL, WEATHER, sdk


def test_the_sdks_own_stream_has_a_final_completion_with_its_usage(ec2: Served) -> None:
    with sdk(ec2).chat.completions.stream(**ASKED, stream_options={"include_usage": True}) as stream:
        assert [event for event in stream if event.type == "content.delta"]
    final = stream.current_completion_snapshot  # the SDK raises for a cut answer when it builds the final completion
    assert (final.model, final.choices[0].finish_reason) == (MODEL, "length")
    assert final.usage
    assert final.usage.total_tokens > final.usage.completion_tokens == 6


def test_a_completion_says_how_it_ended_and_what_it_used(ec2: Served) -> None:
    asked: dict[str, Any] = {"model": MODEL, "prompt": "A list of the functions", "max_tokens": 6, "n": 2}
    whole = sdk(ec2).completions.create(**asked, frequency_penalty=0, echo=False, suffix="")
    assert [choice.finish_reason for choice in whole.choices] == ["length", "length"]
    assert whole.usage
    assert whole.usage.completion_tokens == 12
    text = sdk(ec2).completions.create(**asked | {"n": 1, "seed": 3}).choices[0].text.split()
    stopped = sdk(ec2).completions.create(**asked | {"n": 1, "seed": 3, "stop": text[1]}).choices[0]
    assert stopped.finish_reason == "stop"
    *chunks, last = list(sdk(ec2).completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    assert {choice.index for chunk in chunks for choice in chunk.choices} == {0, 1}
    assert last.usage == whole.usage


def test_several_prompts_are_answered_in_one_call_and_may_be_repeated(ec2: Served) -> None:
    prompts = ["A list of the functions", "The sea is"]
    asked: dict[str, Any] = {"model": MODEL, "prompt": prompts, "max_tokens": 3, "echo": True}
    whole = sdk(ec2).completions.create(**asked)
    assert [choice.index for choice in whole.choices] == [0, 1]
    for choice, prompt in zip(whole.choices, prompts, strict=True):
        assert choice.text.startswith(prompt)
        assert len(choice.text) > len(prompt)
    assert whole.usage
    assert whole.usage.completion_tokens == 6


def test_langchain_streams_with_usage(ec2: Served) -> None:
    model = ChatOpenAI(base_url=ec2.url, api_key=ec2.key, model=MODEL, max_completion_tokens=20, stream_usage=True)
    assert model.invoke("What is a list?").usage_metadata
    assert any(piece.usage_metadata for piece in model.stream("What is a list?"))


@pytest.mark.parametrize("more", [{"tools": [WEATHER]}, {"logprobs": True}, {"frequency_penalty": 0.5}])
def test_a_field_that_the_engine_cannot_serve_is_refused_by_name(ec2: Served, more: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        sdk(ec2).chat.completions.create(**ASKED | more)
    assert (raised.value.code, raised.value.param) == ("invalid_parameter", *more)

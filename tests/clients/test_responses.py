"""OpenAI's own SDK, unmodified, on /responses: answers whole and streamed, parsed, with tools and reasoning."""

import json
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import openai
import pydantic
import pytest
from openai.types.responses import Response, ResponseStreamEvent

from .conftest import Served
from .test_openai import sdk

ENGINES = ["lmi", "tgi", "vllm", "sglang", "llama-cpp"]
ASKED: dict[str, Any] = {"input": "What is a list?", "model": "", "max_output_tokens": 6, "extra_body": {"seed": 3}}
EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseStreamEvent)


class Weather(pydantic.BaseModel):
    """The weather of a city."""

    city: str
    days: int


TOOL = openai.pydantic_function_tool(Weather, name="get_weather")
CALL: dict[str, Any] = {
    "model": "",
    "tools": [TOOL],
    "input": 'Call get_weather {"city": "Rome", "days": 3}',
    "max_output_tokens": 6,
}


def checked(events: Iterable[Any]) -> list[Any]:
    """Return a stream's events, after checking that each is of the SDK's type and that none is missing."""
    found = list(events)
    for event, number in zip(found, count()):
        EVENT.validate_python(event.to_dict())
        assert event.sequence_number == number
    assert [event.type for event in found[:2]] == ["response.created", "response.in_progress"]
    assert found[-1].type in ("response.completed", "response.incomplete")
    return found


@pytest.mark.parametrize("name", [*ENGINES, "ec2"])
@pytest.mark.usefixtures("ec2")
def test_a_response_comes_whole_and_streamed(served: Mapping[str, Served], name: str) -> None:
    whole = sdk(served[name]).responses.create(**ASKED)
    Response.model_validate(whole.to_dict())
    assert (whole.object, whole.status, whole.store) == ("response", "incomplete", False)
    assert whole.incomplete_details
    assert whole.incomplete_details.reason == "max_output_tokens"
    assert whole.usage
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens
    events = checked(sdk(served[name]).responses.create(**ASKED, stream=True))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 1 or name == "ec2"  # a job's answer comes at once
    assert "".join(deltas) == events[-1].response.output_text
    assert events[-1].response.output_text.strip() == whole.output_text.strip() != ""
    assert events[-1].response.usage == whole.usage


@pytest.mark.parametrize("name", ENGINES)
def test_an_answer_is_parsed_whole_and_streamed(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | {"input": "Where is it warm?", "text_format": Weather}
    assert isinstance(sdk(served[name]).responses.parse(**asked).output_parsed, Weather)
    with sdk(served[name]).responses.stream(**asked) as stream:
        assert any(event.type == "response.output_text.delta" for event in stream)
        assert isinstance(stream.get_final_response().output_parsed, Weather)


@pytest.mark.parametrize("name", ENGINES)
def test_a_tool_is_called_and_its_output_is_answered(served: Mapping[str, Served], name: str) -> None:
    client = sdk(served[name])
    (call,) = client.responses.parse(**CALL).output
    assert call.type == "function_call"
    assert call.parsed_arguments == Weather(city="Rome", days=3)
    with client.responses.stream(**CALL) as stream:
        events = list(stream)
        (streamed,) = stream.get_final_response().output
    assert streamed.type == "function_call"
    assert (streamed.name, streamed.arguments) == (call.name, call.arguments)
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert len(deltas) > 1
    assert "".join(deltas) == call.arguments
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 22 degrees"}
    turns: list[Any] = [{"role": "user", "content": CALL["input"]}, call, output]
    answer = client.responses.parse(**CALL | {"input": turns})
    assert answer.output_text.startswith("sunny, 22 degrees")


def test_each_event_of_calls_is_of_the_sdks_types(lmi: Served) -> None:
    tools = [{"type": "function", "name": name, "parameters": None, "strict": None} for name in ("first", "second")]
    asked: dict[str, Any] = {"model": "", "input": "Call first and second.", "tools": tools}
    events = checked(sdk(lmi).responses.create(**asked, stream=True))
    assert [item.name for item in events[-1].response.output] == ["first", "second"]


@pytest.mark.parametrize("name", ["lmi", "llama-cpp"])
def test_reasoning_comes_before_the_answer(served: Mapping[str, Served], name: str) -> None:
    asked = ASKED | {"max_output_tokens": 12, "reasoning": {"effort": "low", "summary": "auto"}}
    thought, said = sdk(served[name]).responses.create(**asked).output
    assert (thought.type, said.type) == ("reasoning", "message")
    assert thought.summary[0].text
    events = checked(sdk(served[name]).responses.create(**asked, stream=True))
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message"]
    assert any(event.type == "response.reasoning_summary_text.delta" for event in events)


def test_what_is_not_kept_here_is_refused_by_its_name(lmi: Served) -> None:
    for wrong in ({"previous_response_id": "resp_1"}, {"background": True}, {"tools": [{"type": "web_search"}]}):
        with pytest.raises(openai.BadRequestError) as raised:
            sdk(lmi).responses.create(**ASKED | wrong)
        assert raised.value.param
        assert raised.value.param.startswith(next(iter(wrong)))
    assert json.loads(raised.value.response.text)["error"]["code"] == "invalid_parameter"

"""Bodies of POST /responses -> bodies of chats, or a refusal that names the field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_api.responses.fields import FIELDS
from inference_api.responses.request import ResponseRequest, read_request
from inference_api.shared.errors import ApiError
from support.repository import ROOT

PUBLISHED = [json.loads(line) for line in (ROOT / "tests" / "published_responses.jsonl").read_text().splitlines()]


def read(body: Any) -> ResponseRequest:
    return read_request(json.dumps(body).encode(), "application/json", 100_000)


def test_published_bodies_are_many() -> None:
    assert len({each["name"] for each in PUBLISHED}) == len(PUBLISHED) > 100


@pytest.mark.parametrize("case", [pytest.param(each, id=each["name"]) for each in PUBLISHED])
def test_a_published_body_becomes_a_chat_or_names_the_field(case: dict[str, Any]) -> None:
    if "chat" in case:
        chat = read(case["body"]).chat
        chat.pop("model", None)
        assert chat == case["chat"]
    else:
        with pytest.raises(ApiError) as refused:
            read(case["body"])
        assert (refused.value.status, refused.value.field) == (400, case["refused"])
        assert refused.value.message.startswith(f"{case['refused']}: ")


@pytest.mark.parametrize(("detail", "sent"), [("auto", {}), ("original", {}), ("low", {"detail": "low"})])
def test_a_chat_gets_only_the_details_that_it_knows(detail: str, sent: dict[str, str]) -> None:
    part = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": detail}
    (message,) = read({"input": [{"role": "user", "content": [part]}]}).chat["messages"]
    assert message["content"][0]["image_url"] == {"url": part["image_url"]} | sent


WRONG: list[Any] = [[], {}, "", 1, True, 0.5, [[1]], {"type": 1}]
# Values that a field takes though they are in the list of wrong ones.
RIGHT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("instructions", "model", "user", "safety_identifier", "prompt_cache_key"), ("",)),
    **dict.fromkeys(("service_tier", "prompt_cache_retention"), ("",)),
    **dict.fromkeys(("stream", "store", "parallel_tool_calls"), (True,)),
    **dict.fromkeys(("max_output_tokens", "max_tool_calls", "top_logprobs"), (1,)),
    **dict.fromkeys(("temperature", "top_p"), (1, 0.5)),
    **dict.fromkeys(("prompt_cache_options", "image", "access_programs", "background_options"), ({}, {"type": 1})),
    "client_metadata": ({}, {"type": 1}),
    **dict.fromkeys(("text", "reasoning"), ({}, {"type": 1})),
    **dict.fromkeys(("tools", "include"), ([],)),
    "metadata": ({},),
}
CASES = [
    pytest.param(name, value, id=f"{name}: {value!r}")
    for name in FIELDS
    for value in WRONG
    if not any(value == each and type(value) is type(each) for each in RIGHT.get(name, ()))
]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_field_of_the_wrong_type_is_named(name: str, value: Any) -> None:
    with pytest.raises(ApiError) as refused:
        read({"input": "Hi", name: value})
    assert refused.value.status == 400
    assert (refused.value.field or "").split(".")[0].split("[")[0] == name


NESTED: dict[str, dict[str, Any]] = {
    "text.format.type": {"text": {"format": {}}},
    "text.format.schema": {"text": {"format": {"type": "json_schema", "name": "a", "schema": "x"}}},
    "text.format.strict": {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}, "strict": "yes"}}},
    "text.format.description": {
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {}, "description": 1}}
    },
    "text.verbosity": {"text": {"verbosity": 1}},
    "reasoning.effort": {"reasoning": {"effort": 1}},
    "reasoning.summary": {"reasoning": {"summary": []}},
    "prompt_cache_options.prewarm": {"prompt_cache_options": {"prewarm": True}},
    "include[0]": {"include": [1]},
    "tools[0].parameters": {"tools": [{"type": "function", "name": "a", "parameters": []}]},
    "tools[0].strict": {"tools": [{"type": "function", "name": "a", "strict": "yes"}]},
    "tools[0].description": {"tools": [{"type": "function", "name": "a", "description": 1}]},
    "tools[0].format.definition": {
        "tools": [{"type": "custom", "name": "a", "format": {"type": "grammar", "syntax": "x"}}]
    },
    "tools[0].tools": {"tools": [{"type": "namespace", "name": "a"}]},
    "tools[0].tools[0].type": {"tools": [{"type": "namespace", "name": "a", "tools": [{"type": "web_search"}]}]},
    "tools[0].function": {"tools": [{"type": "function", "function": {"name": "a"}}]},
    "tool_choice.mode": {"tool_choice": {"type": "allowed_tools", "tools": []}},
    "tool_choice.tools[0].name": {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{}]}},
    "input[0]": {"input": ["Hi"]},
    "input[0].type": {"input": [{}]},
    "input[0].content": {"input": [{"role": "user", "content": 1}]},
    "input[0].content[0]": {"input": [{"role": "user", "content": ["Hi"]}]},
    "input[0].content[0].text": {"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]},
    "input[0].content[0].image_url": {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
    "input[0].call_id": {"input": [{"type": "function_call", "name": "a", "arguments": "{}"}]},
    "input[0].name": {"input": [{"type": "function_call", "call_id": "a", "arguments": "{}"}]},
    "input[0].arguments": {"input": [{"type": "function_call", "call_id": "a", "name": "a", "arguments": {}}]},
    "input[0].namespace": {
        "input": [{"type": "function_call", "call_id": "a", "name": "a", "arguments": "", "namespace": 1}]
    },
    "input[0].input": {"input": [{"type": "custom_tool_call", "call_id": "a", "name": "a"}]},
    "input[0].id": {"input": [{"type": "item_reference", "id": 1}]},
}


@pytest.mark.parametrize("field", NESTED)
def test_an_inner_field_of_the_wrong_type_is_named(field: str) -> None:
    with pytest.raises(ApiError) as refused:
        read({"input": "Hi", **NESTED[field]})
    assert (refused.value.status, refused.value.field) == (400, field)


_NAMES = st.sampled_from(["type", "role", "content", "name", "call_id", "id", "output", "format", "tools", "text"])
_WORDS = st.sampled_from(["function", "message", "user", "namespace", "custom", "input_text", "function_call_output"])
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "top_k"]), _ANY, max_size=4))
def test_no_body_is_more_than_a_chat_or_a_refusal(body: dict[str, Any]) -> None:
    try:
        assert read(body).chat["messages"]
    except ApiError as error:
        shown = error.as_object()
        if error.status != 400 or not shown["param"]:
            raise

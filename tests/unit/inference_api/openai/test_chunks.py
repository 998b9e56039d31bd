"""Values of every engine's stream as OpenAI's chunks."""

import json
from typing import Any

import pytest

from inference_api.http.sse import event
from inference_api.openai.call import OpenAICall
from inference_api.openai.chunks import chunks
from inference_api.openai.whole import as_chunks, chunks_of, openai_object
from inference_api.shared import runtime
from inference_api.shared.errors import InvocationError

MODEL = "Qwen/Qwen3-4B"
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def call(*, chat: bool = True, with_usage: bool = False, echo: str = "") -> OpenAICall:
    return OpenAICall(
        document={},
        form="messages" if chat else "inputs",
        chat=chat,
        model=MODEL,
        streams=True,
        with_usage=with_usage,
        engine_streams=True,
        asks_usage=True,
        echo=echo,
    )


def chunk(content: str, reason: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": {"content": content}, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "lmi", "choices": [choice], **more}


STREAM = [chunk("one"), chunk(" two", "stop"), {**chunk(""), "choices": [], "usage": USAGE}]


def copied(values: list[Any]) -> list[Any]:
    return list(json.loads(json.dumps(values)))


def text(found: list[dict[str, Any]]) -> str:
    return "".join(each["choices"][0].get("text", "") for each in found if each["choices"])


@pytest.mark.parametrize("with_usage", [False, True])
def test_usage_is_heard_of_always_and_passed_on_if_asked_for(with_usage: bool) -> None:
    heard: list[tuple[int | None, int]] = []
    found = list(chunks(copied(STREAM), call(with_usage=with_usage), lambda *tokens: heard.append(tokens)))
    assert heard == [(5, 2)]
    assert [each.get("usage") for each in found] == ([None, None, USAGE] if with_usage else [None, None])
    assert ("usage" in found[0]) is False


def test_usage_beside_a_choice_costs_nobody_the_choice() -> None:
    found = list(chunks([chunk("one", "stop", usage=USAGE)], call()))
    assert [each["choices"][0]["delta"] for each in found] == [{"content": "one"}]
    assert "usage" not in found[0]


def test_our_name_of_the_model_is_in_every_chunk() -> None:
    bare = {name: value for name, value in chunk("x", "stop").items() if name != "model"}  # LMI with a rolling batch
    assert {each["model"] for each in chunks([*copied(STREAM), bare], call())} == {MODEL}


@pytest.mark.parametrize(
    ("said", "meant"), [("eos_token", "stop"), ("stop_sequence", "stop"), ("length", "length"), ("tool_calls",) * 2]
)
def test_reasons_to_finish_are_openais(said: str, meant: str) -> None:
    found = list(chunks([chunk("a", ""), chunk("b", said)], call()))
    assert [each["choices"][0]["finish_reason"] for each in found] == [None, meant]


def test_tokens_of_tgi_are_chunks_of_a_completion() -> None:
    details = {"finish_reason": "eos_token", "generated_tokens": 3, "input_length": 4, "seed": None}
    values = [
        {"index": 1, "token": {"id": 1, "text": "The", "special": False}, "generated_text": None, "details": None},
        {"index": 2, "token": {"id": 2, "text": " sea", "special": False}, "generated_text": None, "details": None},
        {
            "index": 3,
            "token": {"id": 3, "text": "</s>", "special": True},
            "generated_text": "The sea",
            "details": details,
        },
    ]
    found = list(chunks(values, call(chat=False, with_usage=True)))
    assert text(found) == "The sea"
    assert [each["object"] for each in found] == ["text_completion"] * 4
    assert len({each["id"] for each in found}) == 1
    assert found[2]["choices"][0]["finish_reason"] == "stop"
    assert found[3] | {"created": 0, "id": ""} == {
        "id": "",
        "object": "text_completion",
        "created": 0,
        "model": MODEL,
        "choices": [],
        "usage": {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7},
    }


def test_a_completion_has_the_time_of_the_functions_clock() -> None:
    before = runtime.runtime()
    runtime.use(runtime.Runtime(now=lambda: 12.9))
    try:
        assert openai_object(b'{"generated_text": "The sea"}', call(chat=False))["created"] == 12
    finally:
        runtime.use(before)


def test_tokens_of_lmi_end_without_details() -> None:
    values = [{"token": {"text": "The", "log_prob": -1}}, {"token": {"text": " sea"}, "generated_text": "The sea"}]
    found = list(chunks(values, call(chat=False)))
    assert text(found) == "The sea"
    assert found[-1]["choices"][0]["finish_reason"] == "stop"


WHOLE = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "lmi",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "tool_calls": [{"id": "1", "type": "function"}]},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
}


def test_a_whole_answer_is_unchanged_but_for_the_model() -> None:
    assert openai_object(json.dumps(WHOLE).encode(), call()) == {**WHOLE, "model": MODEL}


def test_a_whole_answer_makes_the_chunks_of_a_stream() -> None:
    first, last, usage = chunks([copied([WHOLE])[0]], call(with_usage=True))
    delta = first["choices"][0]["delta"]
    assert delta == {"role": "assistant", "content": "Hi", "tool_calls": [{"index": 0, "id": "1", "type": "function"}]}
    assert (first["object"], first["choices"][0]["finish_reason"]) == ("chat.completion.chunk", None)
    assert last["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "stop"}
    assert (usage["choices"], usage["usage"]) == ([], USAGE)


def test_a_whole_completion_makes_chunks_of_the_same_object() -> None:
    whole = {"id": "c", "object": "text_completion", "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}
    assert list(as_chunks(whole)) == [whole]


@pytest.mark.parametrize("choice", [5, {"message": "Hi"}, {"message": {"tool_calls": [1]}}, {"finish_reason": []}])
def test_a_whole_answer_of_no_known_form_is_an_error_of_the_model(choice: Any) -> None:
    with pytest.raises(InvocationError) as raised:
        chunks_of(json.dumps({"choices": [choice]}).encode(), call())
    assert (raised.value.code, raised.value.status) == ("model_error", 502)


@pytest.mark.parametrize(
    "answer",
    [{"generated_text": "Hi there"}, [{"generated_text": "Hi there"}], [[{"generated_text": "Say: Hi there"}]]],
    ids=["LMI", "TGI", "transformers"],
)
def test_a_text_is_a_completion_without_the_prompt_that_some_engines_repeat(answer: Any) -> None:
    found = openai_object(json.dumps(answer).encode(), call(chat=False, echo="Say: "))
    assert (found["object"], found["model"]) == ("text_completion", MODEL)
    assert [(each["text"], each["finish_reason"]) for each in found["choices"]] == [("Hi there", "stop")]
    assert "usage" not in found


def test_each_sample_of_an_engine_is_a_choice() -> None:
    found = openai_object(b'[{"generated_text": "a"}, {"generated_text": "b"}]', call(chat=False))
    assert [(each["index"], each["text"]) for each in found["choices"]] == [(0, "a"), (1, "b")]


def test_details_of_a_text_are_its_usage_and_its_reason() -> None:
    details = {"finish_reason": "length", "generated_tokens": 2, "prefill": [{}, {}, {}]}
    found = openai_object(json.dumps([{"generated_text": "a b", "details": details}]).encode(), call(chat=False))
    assert found["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert found["choices"][0]["finish_reason"] == "length"


def test_the_tokens_of_all_samples_are_counted_and_their_prompt_once() -> None:
    details = {"finish_reason": "stop", "prompt_tokens": 3}
    texts = [{"generated_text": "a", "details": details | {"generated_tokens": each}} for each in (2, 4)]
    found = openai_object(json.dumps(texts).encode(), call(chat=False))
    assert found["usage"] == {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9}


def test_samples_of_several_prompts_are_choices_in_their_order_and_each_prompt_counts_once() -> None:
    def sample(text: str, prompt: int) -> dict[str, Any]:
        return {"generated_text": text, "details": {"prompt_tokens": prompt, "generated_tokens": 1}}

    texts = [[sample("a", 2), sample("b", 2)], [sample("c", 5), sample("d", 5)]]
    found = openai_object(json.dumps(texts).encode(), call(chat=False))
    assert [(each["index"], each["text"]) for each in found["choices"]] == list(enumerate("abcd"))
    assert found["usage"] == {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'"Hi"', b'{"generated_text": null}', b"<html>", b'{"a": "\xff"}'])
def test_an_answer_of_another_kind_is_the_models_failure(answer: bytes) -> None:
    with pytest.raises(InvocationError) as caught:
        openai_object(answer, call(chat=False))
    assert (caught.value.status, caught.value.code) == (502, "model_error")


def test_half_a_character_of_a_model_breaks_no_event() -> None:
    assert b"\\ud83d" in event({"choices": [{"index": 0, "text": "\ud83d", "finish_reason": "stop"}]})

"""Streams of every engine, cut anywhere, and the errors that engines write into them."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_api.openai.parts import objects
from inference_api.shared.errors import InvocationError

CHUNK = {
    "choices": [{"index": 0, "delta": {"content": "caf\u00e9 \U0001f600 \u2028 data: [DONE]"}, "finish_reason": "stop"}]
}
TOKEN = {"token": {"text": "\U0001f600"}, "generated_text": "\U0001f600", "details": None}


def as_sse(values: list[Any], prefix: str = "data: ", end: str = "\n\n") -> bytes:
    return "".join(f"{prefix}{json.dumps(value, ensure_ascii=False)}{end}" for value in values).encode()


def as_lines(values: list[Any], end: str = "\n") -> bytes:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}{end}" for value in values).encode()


FORMATS = {
    "vLLM, SGLang": lambda values: as_sse(values) + b"data: [DONE]\n\n",
    "TGI": lambda values: b":\n\n" + as_sse(values, "data:"),
    "carriage returns": lambda values: b"event: message\r\nid: 1\r\n" + as_sse(values, end="\r\n\r\n"),
    "LMI": lambda values: as_lines(values) + b"\n",
    "LMI, no end": lambda values: as_lines(values).removesuffix(b"\n"),
}
_texts = st.text(st.sampled_from('ab\u00e9\u2028\U0001f600\\"\n\r{}[]: '), max_size=6)
_values = st.lists(
    st.builds(lambda text: {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, _texts),
    min_size=1,
    max_size=4,
)


@given(_values, st.sampled_from(sorted(FORMATS)), st.lists(st.integers(0, 400), max_size=12))
def test_any_cut_gives_the_same_values(values: list[Any], name: str, cuts: list[int]) -> None:
    raw = FORMATS[name](values)
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    parts = [raw[start:end] for start, end in pairwise(places)]
    assert list(objects(parts)) == values


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_byte_alone_is_enough(name: str) -> None:
    raw = FORMATS[name]([CHUNK, TOKEN])
    assert list(objects(raw[at : at + 1] for at in range(len(raw)))) == [CHUNK, TOKEN]


def test_a_value_comes_with_the_part_that_ends_its_line() -> None:
    asked = 0

    def parts() -> Any:
        nonlocal asked
        for part in (as_sse([CHUNK]), as_sse([TOKEN])):
            asked += 1
            yield part

    values = objects(parts())
    assert (next(values), asked) == (CHUNK, 1)


@pytest.mark.parametrize(
    ("raw", "status", "code", "words"),
    [
        (b'{"error": "CUDA out of memory", "code": 424}\n', 502, "model_error", "CUDA out of memory"),
        (b'{"code": 424, "message": "Async Inference Failure", "properties": {}}\n', 502, "model_error", "Async"),
        (b'{"error": "Input parsing failed: no prompt", "code": 424}\n', 400, "rejected_by_model", "no prompt"),
        (b'data: {"error": {"message": "too long", "code": 400}}\n\n', 400, "rejected_by_model", "too long"),
        (b'data: {"object": "error", "message": "too long", "code": 400}\n\n', 400, "rejected_by_model", "too long"),
        (b'data: {"error": {"message": "died", "type": "x", "code": 500}}\n\n', 502, "model_error", "died"),
        (b'error: {"code": 500, "message": "slot", "type": "server_error"}\n\n', 502, "model_error", "slot"),
        (b'data:{"error":"long","error_type":"validation"}\n\n', 400, "rejected_by_model", "long"),
        (b'data:{"error":"died","error_type":"generation"}\n\n', 502, "model_error", "died"),
        (b'{"token": {"text": ""}, "details": {"finish_reason": "error"}}\n', 502, "model_error", ""),
        (b'{"choices": [{"delta": {}, "finish_reason": "error"}]}\n', 502, "model_error", ""),
    ],
)
def test_an_error_of_the_engine_is_raised_where_it_stands(raw: bytes, status: int, code: str, words: str) -> None:
    values = objects([as_sse([CHUNK]), raw, as_sse([TOKEN])])
    assert next(values) == CHUNK
    with pytest.raises(InvocationError) as caught:
        next(values)
    assert (caught.value.status, caught.value.code) == (status, code)
    assert words in caught.value.message


@pytest.mark.parametrize(
    "rest", [b'data: {"choices": [{"del', '{"a": "\U0001f600'.encode()[:-2], b"<html>", b"data: x"]
)
def test_a_stream_that_breaks_off_in_a_value_is_an_error(rest: bytes) -> None:
    values = objects([as_sse([CHUNK]), rest])
    assert next(values) == CHUNK
    with pytest.raises(InvocationError) as caught:
        next(values)
    assert (caught.value.status, caught.value.ran) == (502, True)


def part(index: int, reason: str | None) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {}, "finish_reason": reason}]}


@pytest.mark.parametrize(
    "values",
    [
        [],
        [part(0, None)],
        [part(0, "stop"), part(1, None)],
        [{"choices": []}],
        [{"token": {"text": "The"}, "generated_text": None}],
    ],
    ids=["nothing", "no reason", "one of two", "no choice", "token"],
)
def test_a_stream_that_just_ends_is_an_error_after_its_values(values: list[Any]) -> None:
    found = objects([as_sse(values), b"data: [DONE]\n\n"])
    assert [next(found) for _ in values] == values
    with pytest.raises(InvocationError) as caught:
        next(found)
    assert (caught.value.status, caught.value.code, caught.value.ran) == (502, "model_error", True)


@pytest.mark.parametrize(
    "values",
    [
        [part(0, None), part(1, "stop"), part(0, "length"), {"choices": [], "usage": {}}],
        [{"token": {"text": "The"}}, {"token": {"text": " sea"}, "generated_text": "The sea"}],
        [{"choices": [{"message": {"content": "Hi"}}]}],
        [[{"generated_text": "Hi"}]],
        [{"of": "an own image"}, {"of": "an own image"}],
    ],
    ids=["two choices", "tokens", "whole chat", "whole text", "own image"],
)
def test_an_answer_that_is_over_is_no_error(values: list[Any]) -> None:
    assert list(objects([as_lines(values)])) == values


def test_an_event_may_have_several_lines_of_data() -> None:
    events = [json.dumps(each, indent=1).replace("\n", "\ndata: ") for each in (part(0, None), part(0, "stop"))]
    raw = f"data: {events[0]}\n\nevent: more\n: comment\ndata: {events[1]}\n\ndata: [DONE]\n\n".encode()
    assert list(objects([raw])) == [part(0, None), part(0, "stop")]


def test_lines_of_data_that_never_become_json_are_an_error() -> None:
    with pytest.raises(InvocationError, match="model_error"):
        list(objects([b'data: {"a":\n'] * 2000))


def test_a_word_in_an_answer_is_no_error() -> None:
    ended = {"choices": [{"text": "error", "finish_reason": "stop"}], "code": 500}
    values = [{"choices": [], "error": None, "code": None}, ended]
    assert list(objects([as_sse(values)])) == values


def test_a_line_that_never_ends_is_refused_before_it_fills_the_memory() -> None:
    def endless() -> Any:
        for _ in range(100):
            yield b"x" * 1_000_000
        raise AssertionError

    with pytest.raises(Exception, match="answer_too_large"):
        list(objects(endless()))

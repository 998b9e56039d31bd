"""Chunks of a chat -> the response that they add up to."""

from typing import Any

import pytest

from inference_api.shared import errors
from support.hostile_chunks import events_of, response


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def call(index: int | None, name: str = "", arguments: Any = "", **more: Any) -> dict[str, Any]:
    """Return a chunk with a piece of a tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return chunk(tool_calls=[{"function": function} | ({} if index is None else {"index": index}) | more])


def events(*chunks: dict[str, Any], summarizes: bool = False) -> list[dict[str, Any]]:
    return events_of(b"".join(response(summarizes=summarizes).pieces(chunks)))


def answer(*chunks: dict[str, Any], summarizes: bool = False) -> Any:
    last: dict[str, Any] = events(*chunks, summarizes=summarizes)[-1]["response"]
    return last


def calls(*chunks: dict[str, Any]) -> list[tuple[str, str]]:
    """Return name and arguments of each call that the chunks add up to."""
    output = answer(*chunks)["output"]
    return [(item["name"], item.get("arguments", item.get("input"))) for item in output if "call_id" in item]


def test_a_text_comes_in_the_order_of_openais_events() -> None:
    found = events(chunk(role="assistant", content=""), chunk(content="Hel"), chunk("stop", content="lo"))
    assert [event["type"].removeprefix("response.") for event in found] == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    message = found[-1]["response"]["output"][0]
    assert (message["role"], message["status"], message["content"][0]["text"]) == ("assistant", "completed", "Hello")


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("stop", "completed", None),
        ("tool_calls", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
    ],
)
def test_the_reason_to_finish_sets_the_status(reason: str, status: str, why: Any) -> None:
    found = answer(chunk(content="Hi"), chunk(reason))
    assert (found["status"], found["incomplete_details"]) == (status, why)
    assert found["output"][0]["status"] == status
    assert (found["completed_at"] is None) == (status == "incomplete")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_an_item_before_the_answer(name: str) -> None:
    reasoning, message = answer(chunk(**{name: "So"}), chunk(**{name: "."}), chunk("stop", content="4"))["output"]
    assert (reasoning["type"], reasoning["summary"]) == ("reasoning", [])
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "So."}]
    assert message["content"][0]["text"] == "4"


def test_reasoning_is_a_summary_for_callers_who_want_one() -> None:
    found = events(chunk(reasoning_content="So."), chunk("stop", content="4"), summarizes=True)
    assert [event["delta"] for event in found if event["type"] == "response.reasoning_summary_text.delta"] == ["So."]
    assert found[-1]["response"]["output"][0]["summary"] == [{"type": "summary_text", "text": "So."}]


def test_a_refusal_is_a_part_of_its_own() -> None:
    (message,) = answer(chunk("stop", refusal="No."))["output"]
    assert message["content"] == [{"type": "refusal", "refusal": "No."}]


def test_a_call_comes_piece_by_piece_under_the_engines_id() -> None:
    found = events(call(0, "look", id="abc"), call(0, arguments='{"a"'), call(0, arguments=": 1}"), chunk("tool_calls"))
    deltas = [event["delta"] for event in found if event["type"] == "response.function_call_arguments.delta"]
    assert deltas == ['{"a"', ": 1}"]
    (item,) = found[-1]["response"]["output"]
    assert (item["type"], item["name"], item["call_id"]) == ("function_call", "look", "abc")
    assert item["arguments"] == '{"a": 1}'


def test_a_call_is_done_before_the_next_begins() -> None:
    found = events(call(0, "look", "{}", id="a"), call(1, "look", "{}", id="b"), chunk("tool_calls"))
    kinds = [(event["type"], event["output_index"]) for event in found if "output_item" in event["type"]]
    assert kinds == [(f"response.output_item.{step}", index) for index in (0, 1) for step in ("added", "done")]


ENGINES = {
    "one index for every call": [call(0, "look", "{}", id="a"), call(0, "look", '{"b": 1}', id="b")],
    "no index": [call(None, "look", "{}", id="a"), call(None, "look", '{"b"', id="b"), call(None, arguments=": 1}")],
    "the same id for every call": [call(0, "look", "{}", id="0"), call(1, "look", '{"b": 1}', id="0")],
    "turns": [
        *(call(0, "look", "{", id="a"), call(1, "look", '{"b"', id="b")),
        *(call(0, arguments="}"), call(1, arguments=": 1}")),
    ],
    "the name in every piece": [
        *(call(0, "look", "{", id="a"), call(0, "look", "}", id="a")),
        *(call(1, "look", '{"b"', id="b"), call(1, "look", ": 1}", id="b")),
    ],
    "arguments as objects": [call(0, "look", {}, id="a"), call(1, "look", {"b": 1}, id="b")],
    "one object instead of a list": [
        chunk(tool_calls={"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}),
        chunk(tool_calls={"index": 1, "id": "b", "function": {"name": "look", "arguments": '{"b": 1}'}}),
    ],
    "null names": [
        *(call(0, "look", "{}", id="a"), call(1, "look", '{"b"', id="b")),
        chunk(tool_calls=[{"index": 1, "id": None, "function": {"name": None, "arguments": ": 1}"}}]),
    ],
}


@pytest.mark.parametrize("way", ENGINES)
def test_calls_are_told_apart_however_an_engine_streams_them(way: str) -> None:
    chunks = [*ENGINES[way], chunk("tool_calls")]
    assert calls(*chunks) == [("look", "{}"), ("look", '{"b": 1}')]
    ids = [item["call_id"] for item in answer(*chunks)["output"]]
    assert len(set(ids)) == 2


def test_a_custom_tool_gets_its_text() -> None:
    found = events(call(0, "patch", '{"input": "a'), call(0, arguments='b"}'), chunk("tool_calls"))
    (item,) = found[-1]["response"]["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "patch", "ab")
    assert [event["delta"] for event in found if event["type"].endswith("tool_call_input.delta")] == ["ab"]


def test_a_custom_tool_gets_the_arguments_if_the_model_sends_no_text() -> None:
    assert calls(call(0, "patch", "*** Begin"), chunk("tool_calls")) == [("patch", "*** Begin")]


def test_a_call_finds_its_namespace() -> None:
    (item,) = answer(call(0, "files__read", "{}"), chunk("tool_calls"))["output"]
    assert (item["namespace"], item["name"]) == ("files", "read")


def test_a_text_before_a_call_is_a_message() -> None:
    found = answer(chunk(content="I look."), call(0, "look", "{}"), chunk("tool_calls"))["output"]
    assert [item["type"] for item in found] == ["message", "function_call"]


def test_usage_is_told_in_the_words_of_a_response() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    assert answer(chunk("stop", content="Hi"), {"choices": [], "usage": usage})["usage"] == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 13,
    }
    assert answer(chunk("stop", content="Hi"))["usage"] is None, "the engine counts nothing"


def test_probabilities_stand_with_their_text() -> None:
    token = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [{"token": "Ho", "logprob": -2}]}
    given = chunk("stop", content="Hi")
    given["choices"][0]["logprobs"] = {"content": [token]}
    (part,) = answer(given)["output"][0]["content"]
    assert part["logprobs"] == [token | {"top_logprobs": [{"token": "Ho", "logprob": -2, "bytes": [72, 111]}]}]


def test_an_empty_answer_is_an_empty_message() -> None:
    (message,) = answer(chunk("stop"))["output"]
    assert message["content"][0]["text"] == ""


def test_a_piece_after_the_finish_is_no_part_of_the_answer() -> None:
    found = answer(chunk("stop", content="Hi"), chunk(content=" there"))
    assert found["output"][0]["content"][0]["text"] == "Hi"


def test_other_choices_are_no_part_of_the_answer() -> None:
    both = {"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}
    assert answer(both, chunk("stop"))["output"][0]["content"][0]["text"] == "a"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.stream_broken(), "server_error"),
        (errors.throttled("x"), "rate_limit_exceeded"),
        (errors.container_error(400, "too long"), "invalid_prompt"),
    ],
)
def test_an_error_fails_the_response_and_keeps_what_came(error: Any, code: str) -> None:
    made = response()
    raw = next(made.pieces([chunk(content="Half")])) + (made.failed(error) or b"")
    *_, done, failed = events_of(raw)
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert failed["response"]["error"] == {"code": code, "message": error.message, "param": error.field}
    assert done["item"] == failed["response"]["output"][0]
    assert done["item"]["status"] == "incomplete"


def test_an_error_after_the_end_changes_nothing() -> None:
    made = response()
    list(made.pieces([chunk("stop", content="Hi")]))
    assert made.failed(errors.stream_broken()) == b""

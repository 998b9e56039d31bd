"""Whatever an engine streams, a response keeps the rules of its events."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.hostile_chunks import answered, broken_off, events_of

_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "text",
    "response.reasoning_summary_text.delta": "text",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


def check(events: list[dict[str, Any]]) -> None:
    """Hold the events of a response to the rules that clients rely on."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert [event["type"] in _ENDS for event in events] == [False] * (len(events) - 1) + [True]
    open_items, joined, done = dict[int, dict[str, Any]](), dict[int, str](), dict[int, dict[str, Any]]()
    for event in events[2:-1]:
        index, kind = event["output_index"], event["type"]
        if kind == "response.output_item.added":
            assert index == len(open_items) + len(done), "an index is new, and there is no gap"
            open_items[index], joined[index] = event["item"], ""
        elif kind == "response.output_item.done":
            added = open_items.pop(index)
            assert (added["id"], added["type"]) == (event["item"]["id"], event["item"]["type"])
            done[index] = event["item"]
        else:
            assert event["item_id"] == open_items[index]["id"], "events of an item come while it is open"
            if kind in _DELTAS:
                joined[index] += event["delta"]
            elif kind.removesuffix(".done") + ".delta" in _DELTAS:
                assert event[_DELTAS[kind.removesuffix(".done") + ".delta"]] == joined[index]
    assert not open_items, "every item that was added is done"
    output = events[-1]["response"]["output"]
    assert output == [done[index] for index in sorted(done)]
    assert [text_of(item) for item in output] == [joined[index] for index in sorted(done)]
    calls = [item["call_id"] for item in output if "call_id" in item]
    assert len(calls) == len(set(calls)), "each call has an id of its own"
    assert len({item["id"] for item in output}) == len(output)


def text_of(item: dict[str, Any]) -> str:
    """Return what the deltas of an item add up to."""
    parts = [*item.get("content", []), *item.get("summary", [])]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    return "".join([*texts, item.get("arguments", ""), item.get("input", "")])


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_every_stream_keeps_the_rules(random: Random) -> None:
    events = events_of(answered(random))
    check(events)
    assert events[-1]["type"] != "response.failed"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_a_stream_that_breaks_off_fails_and_keeps_the_rules(random: Random) -> None:
    events = events_of(broken_off(random))
    check(events)
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "server_error"

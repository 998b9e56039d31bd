"""Streams of an engine that keeps no rule: chunks of every wrong form, and the responses that are made of them.

`python -m support.hostile_chunks 200` prints the events of 200 responses, one response a line.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

from inference_api.responses.events import ResponseEvents
from inference_api.responses.request import read_request
from inference_api.shared import errors

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
    {"type": "namespace", "name": "files", "description": "d", "tools": [{"type": "function", "name": "read"}]},
]
_JUNK: list[Any] = [None, "", 0, -1, 1.5, True, [], {}, ["x"], {"x": 1}]
_TEXTS: list[Any] = [
    "a",
    " b",
    "\u00e9\U0001f600",
    "data: [DONE]\n\n",
    "\ud800",
    [{"type": "text", "text": "part"}],
    "",
]
_NAMES = ["look", "patch", "files__read", "invented"]
_ARGUMENTS: list[Any] = ['{"input": "', 'x"}', "{}", "", {"input": "whole"}, "not json", None]
_REASONS: list[Any] = ["stop", "length", "tool_calls", "content_filter", "strange", 7, None, "", None, None]


def chunks(random: Random) -> Iterator[dict[str, Any]]:
    """Yield the chunks of one stream. Each has `choices`, without which it would be no chunk."""
    for _ in range(random.randrange(16)):
        chunk: dict[str, Any] = {
            "choices": _maybe(random, [_choice(random) for _ in range(random.choice([0, 1, 1, 1, 2]))])
        }
        if random.random() < 0.3:
            chunk["usage"] = _maybe(random, _usage(random))
        yield chunk


def answered(random: Random) -> bytes:
    """Return the events of a response to a hostile stream."""
    return b"".join(response(summarizes=random.random() < 0.5).pieces(chunks(random)))


def response(*, summarizes: bool = False) -> ResponseEvents:
    """Return a response without events yet, of a request with one tool of each kind."""
    body = {"input": "Hi", "tools": TOOLS, "metadata": {"a": "b"}}
    request = read_request(json.dumps(body).encode(), None, 10_000)
    return ResponseEvents(request.echo, request.tools, "m", "summary_text" if summarizes else "reasoning_text")


def events_of(raw: bytes) -> list[dict[str, Any]]:
    """Return the data of the events, without comments; the name of each must be its type."""
    found = []
    for each in raw.decode().removesuffix("\n\n").split("\n\n"):
        if each.startswith(":"):
            continue
        name, data = each.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


class _BrokenOff(Exception):
    """Ends a stream where the engine dies."""


def broken_off(random: Random) -> bytes:
    """Return the events of a response whose engine dies after some chunks."""
    made, given = response(), list(chunks(random))

    def dying() -> Iterator[dict[str, Any]]:
        yield from given
        raise _BrokenOff

    pieces: list[bytes] = []
    with suppress(_BrokenOff):
        pieces += made.pieces(dying())
    return b"".join([*pieces, made.failed(errors.stream_broken())])


def _maybe(random: Random, value: Any) -> Any:
    return random.choice(_JUNK) if random.random() < 0.04 else value


def _choice(random: Random) -> Any:
    choice = {"index": random.choice([0, 0, 0, 0, 0, 1, None, "0"]), "delta": _maybe(random, _delta(random))}
    if random.random() < 0.2:
        choice["finish_reason"] = random.choice(_REASONS)
    if random.random() < 0.2:
        choice["logprobs"] = _maybe(random, {"content": _maybe(random, [_maybe(random, _logprob(random))])})
    return _maybe(random, choice)


def _delta(random: Random) -> dict[str, Any]:
    delta: dict[str, Any] = {"role": "assistant"}
    for name in ("content", "content", "reasoning_content", "reasoning", "refusal"):
        if random.random() < 0.2:
            delta[name] = _maybe(random, random.choice(_TEXTS))
    if random.random() < 0.6:
        delta["tool_calls"] = _maybe(random, [_call(random) for _ in range(random.randrange(3))])
    return delta


def _call(random: Random) -> Any:
    call: dict[str, Any] = {"function": _maybe(random, {"arguments": random.choice(_ARGUMENTS)})}
    if random.random() < 0.6 and isinstance(call["function"], dict):
        call["function"]["name"] = _maybe(random, random.choice(_NAMES))
    if random.random() < 0.6:
        call["index"] = _maybe(random, random.randrange(3))
    if random.random() < 0.6:
        call["id"] = _maybe(random, random.choice(["call_1", "call_2", "0"]))
    return _maybe(random, call)


def _usage(random: Random) -> dict[str, Any]:
    details = {"cached_tokens": _maybe(random, 1)}
    return {
        "prompt_tokens": _maybe(random, random.randrange(9)),
        "completion_tokens": _maybe(random, random.randrange(9)),
        "prompt_tokens_details": _maybe(random, details),
        "completion_tokens_details": _maybe(random, {"reasoning_tokens": _maybe(random, 2)}),
    }


def _logprob(random: Random) -> dict[str, Any]:
    token = {"token": _maybe(random, "a"), "logprob": _maybe(random, -0.5), "bytes": _maybe(random, [97])}
    return token | {"top_logprobs": _maybe(random, [dict(token)])}


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        raw = broken_off(Random(seed)) if seed % 5 == 0 else answered(Random(seed))
        print(json.dumps(raw.decode()))

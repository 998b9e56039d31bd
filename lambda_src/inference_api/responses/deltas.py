"""Reads the deltas of an engine's chunks, which may have any form, into texts and calls."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inference_api.model.token_counts import is_count

_REASONING = ("reasoning_content", "reasoning")  # vLLM up to 0.11, SGLang and llama.cpp; newer vLLM


@dataclass(frozen=True)
class CallDelta:
    """A piece of a tool call. index, id and name may be missing: engines repeat or leave them out."""

    index: int | None
    id: str
    name: str
    arguments: str


def choice_of(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first answer's part of a chunk; empty if it has none. A response has one answer."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return {}


def texts_of(choice: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of a choice: reasoning, output_text, refusal."""
    delta = delta_of(choice)
    yield "reasoning", next((text for name in _REASONING if (text := _text(delta.get(name)))), "")
    yield "output_text", _text(delta.get("content")) or _text(choice.get("text"))
    yield "refusal", _text(delta.get("refusal"))


def calls_of(choice: Mapping[str, Any]) -> Iterator[CallDelta]:
    """Yield the pieces of tool calls. TGI has sent one object instead of a list, and arguments as an object."""
    calls = delta_of(choice).get("tool_calls")
    for call in [calls] if isinstance(calls, dict) else calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        index, function = call.get("index"), call.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        yield CallDelta(
            index=index if type(index) is int else None,
            id=_text(call.get("id")),
            name=_text(function.get("name")),
            arguments=json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments),
        )


def logprobs_of(choice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the probabilities of the choice's tokens, in the words of a response."""
    holder = choice.get("logprobs")
    tokens = holder.get("content") if isinstance(holder, dict) else None
    return [
        {**_logprob(each), "top_logprobs": [_logprob(top) for top in _tokens(each.get("top_logprobs"))]}
        for each in _tokens(tokens)
    ]


def usage_of(chunk: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the usage of a chunk in the words of a response; None unless the engine counts prompt and answer."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict) or not is_count(usage.get("prompt_tokens")):
        return None
    generated = usage.get("completion_tokens")
    given, made = usage["prompt_tokens"], generated if is_count(generated) else 0
    return {
        "input_tokens": given,
        "input_tokens_details": {
            "cached_tokens": _detail(usage, "prompt_tokens_details", "cached_tokens"),
            "cache_write_tokens": 0,
        },
        "output_tokens": made,
        "output_tokens_details": {
            "reasoning_tokens": _detail(usage, "completion_tokens_details", "reasoning_tokens"),
        },
        "total_tokens": given + made,
    }


def delta_of(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    delta = choice.get("delta")
    return delta if isinstance(delta, dict) else {}


def _text(value: Any) -> str:
    """Return a text, or that of a list of parts; empty for other values."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _tokens(value: Any) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else []
    return [
        each
        for each in found
        if isinstance(each, dict) and isinstance(each.get("token"), str) and type(each.get("logprob")) in (int, float)
    ]


def _logprob(token: Mapping[str, Any]) -> dict[str, Any]:
    given = token.get("bytes")
    whole = isinstance(given, list) and all(type(each) is int for each in given)
    raw = given if whole else list(token["token"].encode(errors="replace"))
    return {"token": token["token"], "bytes": raw, "logprob": token["logprob"]}


def _detail(usage: Mapping[str, Any], details: str, name: str) -> int:
    holder = usage.get(details)
    found: Any = holder.get(name) if isinstance(holder, dict) else None
    return int(found) if is_count(found) else 0

"""The tool calls and the reasoning of a chat's answer, as each family of engines writes them."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from local_cloud.model_server.contract.answer import EngineRefusedError
from local_cloud.model_server.text.structured import example

_REASONING_TOKENS = 8
_ARGUMENT_CHARACTERS = 8  # of one delta


class ChatForm(NamedTuple):
    """How a family of engines writes calls and reasoning.

    reasoning: the member for the reasoning; "" = the family has none. reason: the finish reason of calls.
    most_calls: None = any number. repeats: members of a call that all its deltas have; the others are then null. None =
    deltas after the first have arguments only.
    """

    reasoning: str = "reasoning"
    reason: str = "tool_calls"
    most_calls: int | None = None
    repeats: tuple[str, ...] | None = None

    def calls(self, parameters: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The calls that `tool_choice` or the last message demands. Raises EngineRefusedError."""
        calls = [
            {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in _demanded(parameters, messages)
        ]
        most = 1 if parameters.get("parallel_tool_calls") is False else self.most_calls
        return calls[:most]

    def deltas(self, index: int, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One call of a stream: the name first, then the arguments piece by piece."""
        function = call["function"]
        yield {"index": index, **call, "function": {**function, "arguments": ""}}
        again: dict[str, Any] = {}
        unnamed: dict[str, Any] = {}
        if self.repeats is not None:
            again = {name: call[name] if name in self.repeats else None for name in ("id", "type")}
            unnamed = {"name": None}
        for at in range(0, len(function["arguments"]), _ARGUMENT_CHARACTERS):
            part = function["arguments"][at : at + _ARGUMENT_CHARACTERS]
            yield {"index": index, **again, "function": {**unnamed, "arguments": part}}

    def reasoning_tokens(self, parameters: Mapping[str, Any]) -> int:
        """The number of tokens at the beginning of an answer that are its reasoning."""
        is_wanted = self.reasoning and parameters.get("reasoning_effort") not in (None, "none")
        return _REASONING_TOKENS if is_wanted else 0


VLLM_CHATS = ChatForm()
# As router/src/chat.rs and lib.rs of TGI, and serving_chat.py of SGLang, write them.
TGI_CHATS = ChatForm(reasoning="", reason="stop", most_calls=1, repeats=("id", "type"))
SGLANG_CHATS = ChatForm(reasoning="reasoning_content", repeats=("type",))
LLAMA_CPP_CHATS = ChatForm(reasoning="reasoning_content")


def _demanded(parameters: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """The names and arguments of the calls. If no call is forced, every tool that the user's last message names."""
    choice: Any = parameters.get("tool_choice") or "auto"
    tools = parameters.get("tools") or []
    if choice == "none" or not tools:
        return
    try:
        functions = {tool["function"]["name"]: tool["function"] for tool in tools}
        if choice not in ("auto", "required"):
            functions = {choice["function"]["name"]: functions[choice["function"]["name"]]}
        examples = {name: json.dumps(example(each.get("parameters") or {})) for name, each in functions.items()}
        patterns = {name: rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in functions}
    except (AttributeError, IndexError, KeyError, TypeError):
        raise EngineRefusedError("tools or tool_choice hold no usable function", param="tools") from None
    text = messages[-1]["content"] if messages[-1]["role"] == "user" else ""
    places = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    named = {name: place for name, place in places.items() if place}
    forced = [] if choice == "auto" else [next(iter(examples))]
    for name in named or forced:
        place = named.get(name)
        yield name, (place and _object_at(text[place.end() :])) or examples[name]


def _object_at(text: str) -> str | None:
    """The JSON object with which a text begins; None if it does not."""
    text = text.lstrip(" (:")
    try:
        found, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return text[:end] if isinstance(found, dict) else None

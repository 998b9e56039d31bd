"""Items of a response's output, and the events of each: a text of one part, or a call of a tool."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inference_api.responses.tools import Tool
from inference_api.shared.runtime import runtime

# An event without `sequence_number` and `output_index`.
Event = dict[str, Any]

IN_PROGRESS, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


@dataclass(frozen=True)
class _Part:
    """How the one part of a text item is called. item: the item's type. place: its list of parts. index, text: names of
    members. part, delta: beginnings of the events' names.
    """

    item: str
    place: str
    index: str = "content_index"
    text: str = "text"
    part: str = "response.content_part"
    delta: str = "response.output_text"


_PARTS = {
    "output_text": _Part("message", "content"),
    "refusal": _Part("message", "content", text="refusal", delta="response.refusal"),
    "reasoning_text": _Part("reasoning", "content", delta="response.reasoning_text"),
    "summary_text": _Part(
        "reasoning",
        "summary",
        "summary_index",
        part="response.reasoning_summary_part",
        delta="response.reasoning_summary_text",
    ),
}
_PREFIXES = {"message": "msg", "reasoning": "rs"}


class TextItem:
    """A message or reasoning. kind: of its part, by which the model's text, refusal or reasoning comes."""

    def __init__(self, kind: str) -> None:
        self.kind, self._names = kind, _PARTS[kind]
        self.id = f"{_PREFIXES[self._names.item]}_{runtime().new_id()}"
        self._texts: list[str] = []
        self._logprobs: list[dict[str, Any]] = []
        self._delta = f"{self._names.delta}.delta"
        self._place = {"item_id": self.id, self._names.index: 0}

    def begin(self) -> Iterator[Event]:
        yield {"type": "response.output_item.added", "item": self._shown([], IN_PROGRESS)}
        yield {"type": f"{self._names.part}.added", **self._place, "part": self._part("", [])}

    def add(self, text: str, logprobs: list[dict[str, Any]]) -> Event:
        """Return the event of a piece of the text."""
        self._texts.append(text)
        self._logprobs += logprobs
        event = {"type": self._delta, **self._place, "delta": text}
        return event | {"logprobs": logprobs} if self.kind == "output_text" else event

    def end(self, status: str) -> Iterator[Event]:
        text = "".join(self._texts)
        event = {"type": f"{self._names.delta}.done", **self._place, self._names.text: text}
        yield event | {"logprobs": self._logprobs} if self.kind == "output_text" else event
        part = self._part(text, self._logprobs)
        yield {"type": f"{self._names.part}.done", **self._place, "part": part}
        yield {"type": "response.output_item.done", "item": self._shown([part], status)}

    def _part(self, text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
        more = {"annotations": [], "logprobs": logprobs} if self.kind == "output_text" else {}
        return {"type": self.kind, self._names.text: text, **more}

    def _shown(self, parts: list[dict[str, Any]], status: str) -> dict[str, Any]:
        item = {"id": self.id, "type": self._names.item, "status": status}
        if self._names.item == "message":
            return item | {"role": "assistant", "content": parts}
        return item | {"summary": [], self._names.place: parts}


class CallItem:
    """A call of a function or of a custom tool. call_id: names the call in the next request's output of the tool."""

    def __init__(self, tool: Tool, call_id: str) -> None:
        self._tool, self.call_id = tool, call_id
        self.id = f"{'ctc' if tool.is_custom else 'fc'}_{runtime().new_id()}"
        self._arguments: list[str] = []
        self._place = {"item_id": self.id}

    def begin(self) -> Iterator[Event]:
        yield {"type": "response.output_item.added", "item": self._shown("", IN_PROGRESS)}

    def add(self, arguments: str) -> Iterator[Event]:
        """Yield the event of a piece of the arguments. A custom tool's text is known only at the end."""
        self._arguments.append(arguments)
        if not self._tool.is_custom:
            yield {"type": "response.function_call_arguments.delta", **self._place, "delta": arguments}

    def end(self, status: str) -> Iterator[Event]:
        arguments = "".join(self._arguments)
        if self._tool.is_custom:
            arguments = self._tool.input_of(arguments)
            if arguments:
                yield {"type": "response.custom_tool_call_input.delta", **self._place, "delta": arguments}
            yield {"type": "response.custom_tool_call_input.done", **self._place, "input": arguments}
        else:
            done = {"name": self._tool.name, "arguments": arguments}
            yield {"type": "response.function_call_arguments.done", **self._place, **done}
        yield {"type": "response.output_item.done", "item": self._shown(arguments, status)}

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object, to which no more text can belong."""
        try:
            return isinstance(json.loads("".join(self._arguments)), dict)
        except (ValueError, RecursionError):
            return False

    def _shown(self, text: str, status: str) -> dict[str, Any]:
        kind, member = ("custom_tool_call", "input") if self._tool.is_custom else ("function_call", "arguments")
        item = {"id": self.id, "type": kind, "call_id": self.call_id, "name": self._tool.name, member: text}
        more = {} if self._tool.is_custom else {"status": status}
        return item | more | ({"namespace": self._tool.namespace} if self._tool.namespace else {})

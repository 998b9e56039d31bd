"""A checked request of OpenAI's routes, and how the engine takes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["messages", "prompt", "inputs"]
# Called with all tokens so far, of prompt and answer, when the engine reports them. None: it did not count the prompt.
OnUsage = Callable[[int | None, int], None]


def unheard(prompt_tokens: int | None, completion_tokens: int) -> None:
    """Ignore the tokens: an OnUsage for calls that are not counted."""


@dataclass(frozen=True)
class OpenAICall:
    """A checked request, in the form that the engine takes.

    document: the engine's body, without `stream`. form: the document's key with the prompt. chat: whether the caller
    asked for a chat completion. model: the name that answers show. streams: whether the caller wants chunks.
    with_usage: whether the last chunk must have the tokens. engine_streams: whether the engine streams this form.
    asks_usage: whether its stream counts tokens if asked. echo: the prompt that the engine repeats before its text;
    empty if it does not.
    """

    document: Mapping[str, Any]
    form: Form
    chat: bool
    model: str
    streams: bool
    with_usage: bool
    engine_streams: bool
    asks_usage: bool
    echo: str = ""

    def streamed(self) -> bytes:
        """Return the body that makes the engine stream."""
        if not self.asks_usage:
            return _json({**self.document, "stream": True})
        options = {**(self.document.get("stream_options") or {}), "include_usage": True}
        return _json({**self.document, "stream": True, "stream_options": options})

    def unstreamed(self) -> bytes:
        """Return the body that makes the engine answer as a whole, for a job, for example."""
        return _json({name: value for name, value in self.document.items() if name != "stream_options"})


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()

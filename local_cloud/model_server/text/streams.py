"""Streamed answers: what each family of engines writes for `stream: true`, one part for each decoding step."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from local_cloud.model_server.text.generator import Generation, count_tokens, tokens_of
from local_cloud.model_server.text.request import TextRequest


@dataclass(frozen=True)
class StreamFormat:
    """How a family of engines writes a stream.

    frame: the bytes before and after each object.
    end: the bytes at the end of a stream of OpenAI's objects, and of a stream of tokens.
    token: (number, text) -> the object for one token of an answer to `inputs`.
    """

    content_type: str
    frame: tuple[bytes, bytes]
    end: tuple[bytes, bytes]
    token: Callable[[int, str], dict[str, Any]]

    def written(self, value: Any) -> bytes:
        """One object in its frame; characters beyond ASCII are not escaped."""
        return self.frame[0] + json.dumps(value, ensure_ascii=False).encode() + self.frame[1]

    def of_completion(self, completed: dict[str, Any], *, with_usage: bool) -> list[bytes]:
        """Split a completion of OpenAI's API into parts."""
        usage = completed.pop("usage")
        is_chat = completed["object"] == "chat.completion"
        kind = "chat.completion.chunk" if is_chat else completed["object"]
        of_choices = [list(_steps(choice, is_chat)) for choice in completed["choices"]]
        parts = [
            b"".join(
                self.written({**completed, "object": kind, "choices": [chunk]}) for step in steps for chunk in step
            )
            for steps in itertools.zip_longest(*of_choices, fillvalue=())
        ]
        if with_usage:
            parts[-1] += self.written({**completed, "object": kind, "choices": [], "usage": usage})
        return [*parts[:-1], parts[-1] + self.end[0]]

    def of_tokens(self, request: TextRequest, generation: Generation, output: dict[str, Any]) -> list[bytes]:
        """Split an answer to `inputs` into parts; `output` is the whole answer."""
        tokens = tokens_of(generation.text) or [""]
        values = [self.token(index, text) for index, text in enumerate(tokens, 1)]
        values[-1] |= output
        if "details" in output:
            counts = {"generated_tokens": generation.tokens, "input_length": count_tokens(request.prompts[0])}
            values[-1]["details"] = output["details"] | counts
        parts = [self.written(value) for value in values]
        return [*parts[:-1], parts[-1] + self.end[1]]


def _steps(choice: dict[str, Any], is_chat: bool) -> Iterator[list[dict[str, Any]]]:
    """The chunks of one choice, one list for each decoding step."""
    index, logprobs, reason = choice["index"], choice["logprobs"], choice["finish_reason"]
    message = choice["message"] if is_chat else {}
    if calls := message.get("tool_calls"):
        values = list(_of_call(calls[0]))
    else:
        texts = tokens_of(message["content"] if is_chat else choice["text"]) or [""]
        values = [{"delta": {"content": text}} if is_chat else {"text": text} for text in texts]
    for number, value in enumerate(values):
        told = None if logprobs is None or calls else _logprobs_of(logprobs, number)
        step = [{"index": index, **value, "logprobs": told, "finish_reason": None}]
        if is_chat and number == 0:
            step.insert(0, {"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None})
        if number == len(values) - 1:
            end = {"finish_reason": reason, "stop_reason": choice["stop_reason"]}
            step = [*step, {"index": index, "delta": {}, **end}] if is_chat else [{**step[0], **end}]
        yield step


def _of_call(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of a tool call: the name first, then the arguments piece by piece."""
    function = call["function"]
    named = {"id": call["id"], "type": "function", "function": {"name": function["name"], "arguments": ""}}
    yield {"delta": {"tool_calls": [{"index": 0, **named}]}}
    arguments = function["arguments"]
    for start in range(0, len(arguments), 8):
        yield {"delta": {"tool_calls": [{"index": 0, "function": {"arguments": arguments[start : start + 8]}}]}}


def _logprobs_of(logprobs: dict[str, Any], number: int) -> dict[str, Any]:
    """The log probabilities of one token; a choice has a list for each kind."""
    return {name: values[number : number + 1] for name, values in logprobs.items()}


def _tgi_token(index: int, text: str) -> dict[str, Any]:
    token = {"id": index, "text": text, "logprob": -0.5, "special": False}
    return {"index": index, "token": token, "generated_text": None, "details": None}


def _lmi_token(index: int, text: str) -> dict[str, Any]:
    return {"token": {"id": index, "text": text, "log_prob": -0.5}}


_DONE = b"data: [DONE]\n\n"
# As create_stream_chunk_output in djl_python writes it: JSON lines with a blank line at the end.
JSON_LINES = StreamFormat("application/jsonlines", (b"", b"\n"), (b"\n", b""), _lmi_token)
TGI_EVENTS = StreamFormat("text/event-stream", (b"data:", b"\n\n"), (_DONE, b""), _tgi_token)
EVENTS = StreamFormat("text/event-stream", (b"data: ", b"\n\n"), (_DONE, _DONE), _lmi_token)

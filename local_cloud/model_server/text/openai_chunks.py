"""Writes the chunks of OpenAI's objects, one list for each decoding step."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from local_cloud.model_server.text.chat_form import ChatForm
from local_cloud.model_server.text.generator import pieces_of
from local_cloud.model_server.text.openai_shape import (
    document_of,
    echo,
    head,
    logprobs_of,
    reason_of,
    usage,
)
from local_cloud.model_server.text.request import TextRequest
from local_cloud.model_server.text.source import Generation, Piece


class Chunks:
    """The chunks of an object. Raises EngineRefusedError at once, so that no refused request begins a stream."""

    def __init__(self, request: TextRequest, generations: Sequence[Generation], model: str, form: ChatForm) -> None:
        self._request, self._generations, self._about = request, generations, head(request, model)
        if request.body == "messages":
            self._about["object"] += ".chunk"
        choices = [_choice(request, index, generation, form) for index, generation in enumerate(generations)]
        self._steps = itertools.zip_longest(*choices, fillvalue=())

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        """The chunks of each step, as the answers are written."""
        for of_choices in self._steps:
            yield [{**self._about, "choices": [chunk]} for step in of_choices for chunk in step]

    def usage(self) -> dict[str, Any]:
        """The chunk with the counts, which may come last."""
        return {**self._about, "choices": [], "usage": usage(self._request, self._generations)}


Step = list[dict[str, Any]]


def _choice(request: TextRequest, index: int, generation: Generation, form: ChatForm) -> Iterator[Step]:
    if request.body != "messages":
        return _text(request, index, generation)
    if calls := form.calls(request.parameters, request.messages):
        return _chat(index, generation, _of_calls(calls, form), form.reason)
    if (whole := document_of(request, generation)) is not None:
        return _chat(index, generation, _contents(request, pieces_of(whole), generation), "stop")
    thoughts = form.reasoning_tokens(request.parameters)
    names = itertools.chain([form.reasoning] * thoughts, itertools.repeat("content"))
    return _chat(index, generation, _contents(request, generation.pieces(), generation, names), None)


def _text(request: TextRequest, index: int, generation: Generation) -> Iterator[Step]:
    """A completion's chunks; the last one has the reason."""
    if echoed := echo(request, index):
        for text, _ in pieces_of(echoed):
            logprobs = logprobs_of(request, text, generation)
            yield [{"index": index, "text": text, "logprobs": logprobs, "finish_reason": None}]
    for text, is_last in generation.pieces():
        chunk = {"index": index, "text": text, "logprobs": logprobs_of(request, text, generation)}
        end = {"finish_reason": reason_of(generation), "stop_reason": generation.stop} if is_last else {}
        yield [{**chunk, "finish_reason": None, **end}]


def _chat(
    index: int, generation: Generation, deltas: Iterator[tuple[dict[str, Any], bool]], reason: str | None
) -> Iterator[Step]:
    """A chat's chunks: role, deltas, reason. deltas: each with its log probabilities, and whether it is the last."""
    first: Step = [{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
    for delta, is_last in deltas:
        step = [*first, {"index": index, **delta, "finish_reason": None}]
        if is_last:
            ended = {"finish_reason": reason or reason_of(generation), "stop_reason": generation.stop}
            step.append({"index": index, "delta": {}, **ended})
        yield step
        first = []


def _contents(
    request: TextRequest,
    pieces: Iterator[Piece],
    generation: Generation,
    names: Iterable[str] = itertools.repeat("content"),
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The pieces of an answer. names: the member of each."""
    for (text, is_last), name in zip(pieces, names, strict=False):
        yield {"delta": {name: text}, "logprobs": logprobs_of(request, text, generation)}, is_last


def _of_calls(calls: list[dict[str, Any]], form: ChatForm) -> Iterator[tuple[dict[str, Any], bool]]:
    deltas = [delta for index, call in enumerate(calls) for delta in form.deltas(index, call)]
    for number, delta in enumerate(deltas, 1):
        yield {"delta": {"tool_calls": [delta]}, "logprobs": None}, number == len(deltas)

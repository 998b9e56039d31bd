"""Chunks of a chat -> the events of a response, and the response that they add up to."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inference_api.http import sse
from inference_api.responses.deltas import CallDelta, calls_of, choice_of, logprobs_of, texts_of, usage_of
from inference_api.responses.output_items import COMPLETED, IN_PROGRESS, INCOMPLETE, CallItem, Event, TextItem
from inference_api.responses.tools import Tools
from inference_api.shared.errors import ApiError
from inference_api.shared.runtime import runtime

# A chat's reasons to finish, for which a response is incomplete.
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
# OpenAI's codes of a failed response; clients know no others.
_CODES = {429: "rate_limit_exceeded", 400: "invalid_prompt"}


class ResponseEvents:
    """One response while it is made: every item begins once and ends once, and the events are numbered without a gap.

    Whatever the engine sends, the response holds the joined deltas. echo: the members of the response that repeat the
    request. reasoning: the kind of part in which reasoning comes, reasoning_text or summary_text.
    """

    def __init__(self, echo: Mapping[str, Any], tools: Tools, model: str, reasoning: str) -> None:
        self._tools, self._reasoning = tools, reasoning
        self._response = {
            "id": f"resp_{runtime().new_id()}",
            "object": "response",
            "created_at": int(runtime().now()),
            "status": IN_PROGRESS,
            "model": model,
            "error": None,
            "incomplete_details": None,
            "completed_at": None,
            "output": [],
            "usage": None,
            **echo,
        }
        self._sent = 0
        self._open: dict[int, TextItem | CallItem] = {}  # by output_index
        self._done: dict[int, dict[str, Any]] = {}
        self._text: TextItem | None = None
        self._calls: list[tuple[int | None, str, CallItem]] = []
        self._finish: str | None = None

    def pieces(self, chunks: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
        """Yield the events of each chunk, then those of the end."""
        for chunk in chunks:
            if piece := self._piece(self._of_chunk(chunk)):
                yield piece
        yield self._piece(self._end())

    def whole(self, chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the response that the chunks add up to."""
        for _ in self.pieces(chunks):
            pass
        return self._response

    def failed(self, error: ApiError) -> bytes:
        """Return the events that end the response with an error; none if it has ended."""
        if self._response["status"] != IN_PROGRESS:
            return b""
        code = _CODES.get(error.status, "server_error")
        return self._piece(self._fail({"code": code, "message": error.message, "param": error.field}))

    def _piece(self, events: Iterator[Event]) -> bytes:
        """Return events as one piece, numbered."""
        found = bytearray()
        for event in events:
            found += sse.event({**event, "sequence_number": self._sent}, event["type"])
            self._sent += 1
        return bytes(found)

    def _of_chunk(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        yield from self._begin()
        self._response["usage"] = usage_of(chunk) or self._response["usage"]
        choice = choice_of(chunk)
        if self._finish is not None:
            return
        for kind, text in texts_of(choice):
            if text:
                yield from self._add_text(self._reasoning if kind == "reasoning" else kind, text, choice)
        for call in calls_of(choice):
            yield from self._add_call(call)
        if reason := choice.get("finish_reason"):
            self._finish = str(reason)

    def _begin(self) -> Iterator[Event]:
        if not self._sent:
            yield {"type": "response.created", "response": self._response}
            yield {"type": "response.in_progress", "response": self._response}

    def _add_text(self, kind: str, text: str, choice: Mapping[str, Any]) -> Iterator[Event]:
        if self._text is None or self._text.kind != kind:
            yield from self._end_text(COMPLETED)
            self._text = TextItem(kind)
            yield from self._add_item(self._text)
        logprobs = logprobs_of(choice) if kind == "output_text" else []
        yield {**self._text.add(text, logprobs), "output_index": self._index_of(self._text)}

    def _add_call(self, delta: CallDelta) -> Iterator[Event]:
        call = self._call_of(delta)
        if call is None and not delta.name:
            return  # a piece of no call
        if call is None:
            yield from self._end_text(COMPLETED)
            yield from self._end_items(COMPLETED, only_whole=True)
            call = CallItem(self._tools.tool(delta.name), self._new_call_id(delta.id))
            self._calls.append((delta.index, delta.id, call))
            yield from self._add_item(call)
        if delta.arguments and self._is_open(call):
            index = self._index_of(call)
            yield from ({**event, "output_index": index} for event in call.add(delta.arguments))

    def _call_of(self, delta: CallDelta) -> CallItem | None:
        """Return the call that a piece belongs to; None if the piece begins one.

        Engines leave out the index, or repeat it for every call; they leave out the id after the first piece.
        """
        for index, id_, call in reversed(self._calls):
            is_same = delta.index == index if delta.index is not None else not delta.name or delta.id == id_
            if is_same and (not delta.id or not delta.name or delta.id == id_):
                return call
        return None

    def _new_call_id(self, given: str) -> str:
        """Return the engine's id of a call, or a new one: some engines give every call the same."""
        taken = {call.call_id for _, _, call in self._calls}
        return given if given and given not in taken else f"call_{runtime().new_id()}"

    def _add_item(self, item: TextItem | CallItem) -> Iterator[Event]:
        index = len(self._open) + len(self._done)
        self._open[index] = item
        yield from ({**event, "output_index": index} for event in item.begin())

    def _index_of(self, item: TextItem | CallItem) -> int:
        return next(index for index, each in self._open.items() if each is item)

    def _is_open(self, item: CallItem) -> bool:
        return any(each is item for each in self._open.values())

    def _end_text(self, status: str) -> Iterator[Event]:
        if self._text:
            yield from self._end_item(self._index_of(self._text), status)
            self._text = None

    def _end_items(self, status: str, *, only_whole: bool = False) -> Iterator[Event]:
        for index, item in sorted(self._open.items()):
            if not only_whole or (isinstance(item, CallItem) and item.is_whole):
                yield from self._end_item(index, status)

    def _end_item(self, index: int, status: str) -> Iterator[Event]:
        for event in self._open.pop(index).end(status):
            self._done[index] = event.get("item", {})
            yield {**event, "output_index": index}

    def _end(self) -> Iterator[Event]:
        yield from self._begin()
        if not self._open and not self._done:
            self._text = TextItem("output_text")  # an empty answer is a message, too
            yield from self._add_item(self._text)
        reason = _REASONS.get(self._finish or "")
        status = INCOMPLETE if reason else COMPLETED
        yield from self._end_items(status)
        details = {"incomplete_details": {"reason": reason}} if reason else {"completed_at": int(runtime().now())}
        yield self._last(status, details)

    def _fail(self, error: dict[str, Any]) -> Iterator[Event]:
        yield from self._begin()
        yield from self._end_items(INCOMPLETE)
        yield self._last("failed", {"error": error})

    def _last(self, status: str, more: Mapping[str, Any]) -> Event:
        output = [item for _, item in sorted(self._done.items())]
        self._response |= {"status": status, "output": output, **more}
        return {"type": f"response.{status}", "response": self._response}

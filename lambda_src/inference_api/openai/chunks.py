"""An engine's stream of values -> OpenAI's chunks under our name of the model."""

from collections.abc import Iterable, Iterator
from typing import Any

from inference_api import errors
from inference_api.openai import whole
from inference_api.openai.call import OnUsage, OpenAICall, unheard
from inference_api.runtime import runtime


def chunks(values: Iterable[Any], call: OpenAICall, on_usage: OnUsage = unheard) -> Iterator[dict[str, Any]]:
    """OpenAI's chunks, with `usage` only if the caller asked for it.

    values: chunks of OpenAI's API, tokens of TGI or LMI, or one whole answer of an engine that does not stream.
    on_usage: hears once of the tokens, also of a stream that breaks off or is closed; without the engine's own count,
    of a token for each chunk with content.

    Raises InvocationError for a stream that ends before its answer.
    """
    tally = _Tally()
    try:
        for chunk in _openai_chunks(values, call):
            tally.count(chunk)
            if not call.with_usage and "usage" in chunk:
                del chunk["usage"]
                if not chunk["choices"]:
                    continue
            yield chunk
        tally.demand_the_end()
    finally:
        on_usage(*tally.tokens)


def _openai_chunks(values: Iterable[Any], call: OpenAICall) -> Iterator[dict[str, Any]]:
    completion = f"cmpl-{runtime().new_id()}"
    for value in values:
        if isinstance(value, dict) and isinstance(value.get("token"), dict):
            yield from _of_token(value, call, completion)
        elif isinstance(value, dict) and isinstance(value.get("choices"), list) and not _is_whole(value):
            yield whole.in_openai_words(value, call)
        else:
            yield from whole.as_chunks(whole.from_value(value, call))


def _is_whole(value: dict[str, Any]) -> bool:
    return any("message" in choice for choice in value["choices"])


def _of_token(value: dict[str, Any], call: OpenAICall, completion: str) -> Iterator[dict[str, Any]]:
    """The last token of TGI and LMI has the whole text, and details where they were asked for."""
    token, details = value["token"], value.get("details") or {}
    text = "" if token.get("special") else str(token.get("text") or "")
    is_last = isinstance(value.get("generated_text"), str)
    reason = whole.finish_reason(details) or ("stop" if is_last else None)
    yield whole.text_completion(call, text, reason, completion)
    if tokens := whole.tokens_of_details(details):
        yield {**whole.text_completion(call, "", None, completion), "choices": [], "usage": whole.usage(*tokens)}


class _Tally:
    """What a stream has brought so far."""

    def __init__(self) -> None:
        self._told: tuple[int, int] | None = None
        self._with_content = 0
        self._begun: set[Any] = set()
        self._ended: set[Any] = set()

    @property
    def tokens(self) -> tuple[int, int]:
        """Of prompt and completion."""
        return self._told or (0, self._with_content)

    def count(self, chunk: dict[str, Any]) -> None:
        self._told = whole.tokens_of(chunk) or self._told
        for choice in chunk["choices"]:
            self._begun.add(choice.get("index", 0))
            if choice.get("finish_reason"):
                self._ended.add(choice.get("index", 0))
            self._with_content += bool(choice.get("text") or _says_something(choice.get("delta")))

    def demand_the_end(self) -> None:
        """Every choice ends with its reason: an engine that dies may just hang up."""
        if self._begun - self._ended or not self._begun:
            raise errors.stream_broken()


def _says_something(delta: Any) -> bool:
    return isinstance(delta, dict) and any(value for name, value in delta.items() if name != "role")

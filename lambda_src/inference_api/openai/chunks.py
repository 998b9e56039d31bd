"""An engine's stream of values -> OpenAI's chunks with our name of the model."""

from collections.abc import Iterable, Iterator
from typing import Any

from inference_api.openai import whole
from inference_api.openai.call import OnUsage, OpenAICall, unheard
from inference_api.shared import errors
from inference_api.shared.runtime import runtime


def chunks(values: Iterable[Any], call: OpenAICall, on_usage: OnUsage = unheard) -> Iterator[dict[str, Any]]:
    """Yield OpenAI's chunks, with `usage` only if the caller asked for it.

    values: chunks of OpenAI's API, tokens of TGI or LMI, or one whole answer of an engine that does not stream.
    """
    for chunk in _openai_chunks(values, call):
        if tokens := whole.tokens_of(chunk):
            on_usage(*tokens)
        if not call.with_usage and "usage" in chunk:
            del chunk["usage"]
            if not chunk["choices"]:
                continue
        yield chunk


def _openai_chunks(values: Iterable[Any], call: OpenAICall) -> Iterator[dict[str, Any]]:
    completion = f"cmpl-{runtime().new_id()}"
    for value in values:
        try:
            found = list(_of_value(value, call, completion))
        except (AttributeError, LookupError, TypeError):  # of a form that no engine of ours has
            raise errors.answer_not_openai() from None
        yield from found


def _of_value(value: Any, call: OpenAICall, completion: str) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and isinstance(value.get("token"), dict):
        yield from _of_token(value, call, completion)
    elif isinstance(value, dict) and isinstance(value.get("choices"), list) and not _is_whole(value):
        yield whole.in_openai_words(value, call)
    else:
        yield from whole.as_chunks(whole.from_value(value, call))


def _is_whole(value: dict[str, Any]) -> bool:
    return any(isinstance(choice, dict) and "message" in choice for choice in value["choices"])


def _of_token(value: dict[str, Any], call: OpenAICall, completion: str) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a token. The last token of TGI and LMI has the whole text, and details if asked for."""
    token, details = value["token"], value.get("details") or {}
    text = "" if token.get("special") else str(token.get("text") or "")
    is_last = isinstance(value.get("generated_text"), str)
    reason = whole.finish_reason(details) or ("stop" if is_last else None)
    yield whole.text_completion(call, text, reason, completion)
    if counted := whole.usage_of_details([details]):
        yield {**whole.text_completion(call, "", None, completion), "choices": [], "usage": counted}

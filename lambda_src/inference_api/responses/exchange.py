"""A request of POST /responses as an exchange: a chat to the engine, a response to the caller."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from inference_api.keys.named_key import AuthorizedKey
from inference_api.openai.body import read_call
from inference_api.openai.call import OpenAICall
from inference_api.openai.exchange import Exchange
from inference_api.openai.whole import chunks_of
from inference_api.responses.events import ResponseEvents
from inference_api.responses.request import ResponseRequest, chat_body, read_request
from inference_api.shared.errors import ApiError
from inference_api.shared.settings import settings


@dataclass(frozen=True)
class ResponseExchange:
    """A chat whose answer becomes one response. made: the events of it so far."""

    call: OpenAICall
    request: ResponseRequest
    made: ResponseEvents

    def events(self, chunks: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        return self.made.pieces(chunks)

    def view(self, answer: bytes) -> dict[str, Any]:
        return self.made.whole(chunks_of(answer, self.call))

    def last_words(self, error: ApiError) -> bytes | None:
        return self.made.failed(error)

    def in_words_of_caller(self, error: ApiError) -> ApiError:
        return self.request.in_words_of_caller(error)


def read_response(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> Exchange:
    """Read a request of POST /responses. Raises ApiError 400, 404, 413 or 415 with the names of its own fields."""
    request = read_request(body, content_type, settings().request_rules.max_bytes)
    try:
        call = read_call(chat_body(request), None, chat=True, key=key)
    except ApiError as error:
        raise request.in_words_of_caller(error) from None
    call = replace(call, with_usage=True)
    reasoning = "summary_text" if request.summarizes else "reasoning_text"
    return ResponseExchange(call, request, ResponseEvents(request.echo, request.tools, call.model, reasoning))

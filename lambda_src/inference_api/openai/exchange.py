"""A request of one of OpenAI's routes, and the form of its answers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from inference_api.http import sse
from inference_api.keys.named_key import AuthorizedKey
from inference_api.openai.body import read_call
from inference_api.openai.call import OpenAICall
from inference_api.openai.whole import chunks_of, openai_object
from inference_api.shared.errors import ApiError


class Exchange(Protocol):
    """What a route of OpenAI's API makes of a call, of its stream and of its whole answer."""

    @property
    def call(self) -> OpenAICall:
        """The call that the engine takes."""

    def events(self, chunks: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        """Yield the events of a stream. chunks: OpenAI's, of a chat or a completion."""

    def view(self, answer: bytes) -> dict[str, Any]:
        """Return the answer's object. answer: the engine's. Raises InvocationError if it is of no form of ours."""

    def last_words(self, error: ApiError) -> bytes | None:
        """Return the events that end a stream with an error; None for the plain error."""

    def in_words_of_caller(self, error: ApiError) -> ApiError:
        """Return a refusal of the call with the names that the caller's own body has."""


@contextmanager
def told_to_caller(exchange: Exchange) -> Iterator[None]:
    """Turn a refusal of the exchange's call into the words of the caller's own body."""
    try:
        yield
    except ApiError as error:
        raise exchange.in_words_of_caller(error) from None


# Body, content type, the caller's key -> exchange. Raises ApiError for a body that the route does not take.
Read = Callable[[bytes, str | None, AuthorizedKey | None], Exchange]


@dataclass(frozen=True)
class PlainExchange:
    """A chat or a completion: its answers are the engine's own, with our name of the model."""

    call: OpenAICall

    def events(self, chunks: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        return sse.events(chunks)

    def view(self, answer: bytes) -> dict[str, Any]:
        return openai_object(answer, self.call)

    def last_words(self, error: ApiError) -> bytes | None:
        return None

    def in_words_of_caller(self, error: ApiError) -> ApiError:
        return error


def read_chat(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> Exchange:
    """Read a request of POST /chat/completions."""
    return PlainExchange(read_call(body, content_type, chat=True, key=key))


def read_completion(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> Exchange:
    """Read a request of POST /completions."""
    return PlainExchange(read_call(body, content_type, chat=False, key=key))


def events_of_whole(answer: bytes, exchange: Exchange) -> Iterator[bytes]:
    """Yield a whole answer as the events of a stream."""
    return exchange.events(chunks_of(answer, exchange.call))

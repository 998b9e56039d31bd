"""A request of POST /embeddings or POST /rerank as an exchange: the engine's own body, and an object to the caller."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inference_api.embeddings.body import embedding_call, rerank_call
from inference_api.embeddings.embedding_call import EmbeddingCall
from inference_api.embeddings.rerank_call import RerankCall
from inference_api.keys.named_key import AuthorizedKey
from inference_api.openai.call import OpenAICall
from inference_api.openai.exchange import PlainExchange

VectorCall = EmbeddingCall | RerankCall
ReadVectors = Callable[[bytes, str | None, AuthorizedKey | None], "VectorExchange"]


@dataclass(frozen=True)
class VectorExchange(PlainExchange):
    """Texts whose vectors or scores become one object. asked: what the caller wants; `call` asks for all of it."""

    asked: VectorCall

    def view(self, answer: bytes) -> dict[str, Any]:
        return dict(json.loads(self.asked.joined([self.asked.shown(answer)])))


def exchange_of(asked: VectorCall) -> VectorExchange:
    """Return the exchange of a checked request."""
    call = OpenAICall(
        document=asked.document,
        form="inputs",
        chat=False,
        model=asked.model,
        streams=False,
        with_usage=False,
        engine_streams=False,
        asks_usage=False,
    )
    return VectorExchange(call, asked)


def read_embedding(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> VectorExchange:
    """Read a request of POST /embeddings."""
    return exchange_of(embedding_call(body, content_type, key))


def read_rerank(body: bytes, content_type: str | None, key: AuthorizedKey | None) -> VectorExchange:
    """Read a request of POST /rerank."""
    return exchange_of(rerank_call(body, content_type, key))

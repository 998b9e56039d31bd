"""OpenAI's routes that ask the model: how each request is read, and what the engine must answer."""

from typing import NamedTuple

from inference_api.embeddings.exchange import read_embedding, read_rerank
from inference_api.embeddings.vectors import MOST_VECTOR_BYTES
from inference_api.http.answer import MAX_RESPONSE_BYTES
from inference_api.openai.exchange import Read, read_chat, read_completion
from inference_api.responses.exchange import read_response


class Reader(NamedTuple):
    """A route.

    needs: the name in Settings.openai_routes without which a deployment lacks the route. most_bytes: of the model's
    answer that a job's caller gets.
    """

    needs: str
    read: Read
    most_bytes: int = MAX_RESPONSE_BYTES


# Their lists become several calls of the engine.
VECTORS = {"/embeddings": read_embedding, "/rerank": read_rerank}
READERS = {
    "/chat/completions": Reader("chat", read_chat),
    "/completions": Reader("completions", read_completion),
    "/responses": Reader("chat", read_response),
    "/embeddings": Reader("embeddings", VECTORS["/embeddings"], MOST_VECTOR_BYTES),
    "/rerank": Reader("rerank", VECTORS["/rerank"]),
}

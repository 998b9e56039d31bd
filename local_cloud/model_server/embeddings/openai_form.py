"""vLLM's pooling models: OpenAI's {"input": ...} -> embeddings; Jina's {"query", "documents"} -> scores."""

import base64
import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from local_cloud.model_server.contract.answer import EngineAnswer, EngineRefusedError, RefusedError, json_answer
from local_cloud.model_server.embeddings.model import VectorModel
from local_cloud.model_server.embeddings.tei_form import demand_short
from local_cloud.model_server.embeddings.vectors import score_of, unit, vector_of
from local_cloud.model_server.text.catalog_row import CatalogRow
from local_cloud.model_server.text.shapes import OPENAI


class OpenAIForm:
    """Requests and answers of vLLM."""

    most_concurrent_requests = OPENAI.room[1]

    def __init__(self, row: CatalogRow, settings: Mapping[str, str], model: VectorModel) -> None:
        self._row, self._model = row, model
        self._name = settings.get("SM_VLLM_SERVED_MODEL_NAME") or model.name
        # vLLM shortens vectors only of models that say that their vectors can be shortened.
        self._shortens = "matryoshka" in settings.get("SM_VLLM_HF_OVERRIDES", "")

    def embed(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """OpenAI's list of embeddings. Raises RefusedError."""
        self._check_name(content)
        texts = self._model.texts(content.get("input"), "input")
        demand_short(self._model, texts)
        size = content.get("dimensions") or self._model.size
        if size != self._model.size and not self._shortens:
            message = f'Model "{self._name}" does not support matryoshka representation, changing output dimensions '
            raise EngineRefusedError(f"{message}will lead to poor results.")
        as_base64 = content.get("encoding_format") == "base64"
        vectors = [unit(vector_of(text, self._model.size)[:size]) for text in texts]
        data = [
            {"index": index, "object": "embedding", "embedding": _base64(vector) if as_base64 else vector}
            for index, vector in enumerate(vectors)
        ]
        head = {"id": f"embd-{uuid.uuid4().hex}", "object": "list", "created": int(time.time())}
        return head | {"model": self._name, "data": data, "usage": self._usage(texts)}

    def rank(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Jina's list of scores, best first. Raises RefusedError."""
        self._check_name(content)
        query, documents, most = content.get("query"), content.get("documents"), content.get("top_n") or 0
        if not isinstance(query, str) or not isinstance(documents, list) or type(most) is not int:
            raise RefusedError("query must be a text, documents a list of texts, and top_n a whole number")
        texts = self._model.texts(documents, "documents")
        demand_short(self._model, [f"{query} {text}" for text in texts])
        results = [
            {"index": index, "document": {"text": text}, "relevance_score": score_of(query, text, self._model.size)}
            for index, text in enumerate(texts)
        ]
        results.sort(key=lambda result: -float(str(result["relevance_score"])))
        tokens = self._usage([f"{query} {text}" for text in texts])
        head = {"id": f"rerank-{uuid.uuid4().hex}", "model": self._name, "usage": tokens}
        return head | {"results": results[: most or None]}

    def refused(self, error: RefusedError) -> EngineAnswer:
        """The answer to a body that is refused."""
        return json_answer(*OPENAI.refusal(self._row, error, False))

    def overloaded(self) -> EngineAnswer:
        """The answer to a request too many."""
        return json_answer(OPENAI.overloaded, OPENAI.error(OPENAI.overloaded, "The model has too many requests"))

    def _check_name(self, content: Mapping[str, Any]) -> None:
        if content.get("model") not in (None, self._name):
            raise EngineRefusedError(f"The model `{content['model']}` does not exist.", 404, "model")

    def _usage(self, texts: Sequence[str]) -> dict[str, int]:
        tokens = sum(map(self._model.tokens, texts))
        return {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

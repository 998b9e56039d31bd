"""Text Embeddings Inference: {"inputs": ...} -> a list of vectors; {"query", "texts"} -> scores. LMI has its form.

Limits, statuses and messages: text-embeddings-inference router/src/http/server.rs and core/src/tokenization.rs.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from local_cloud.model_server.contract.answer import (
    EngineAnswer,
    EngineRefusedError,
    RefusedError,
    StartError,
    json_answer,
)
from local_cloud.model_server.embeddings.model import VectorModel
from local_cloud.model_server.embeddings.vectors import score_of, unit, vector_of
from local_cloud.model_server.text.catalog_row import CatalogRow
from local_cloud.model_server.text.shapes import LMI

_DTYPES, _POOLINGS = ("float16", "float32"), ("cls", "mean", "splade", "last-token")
_LARGEST_BODY = 2_000_000  # PAYLOAD_LIMIT
_REFUSES_WITH_422_FROM = (1, 8, 3)  # before, what is too large is a 413


class TeiForm:
    """Requests and answers of Text Embeddings Inference."""

    def __init__(self, row: CatalogRow, settings: Mapping[str, str], model: VectorModel) -> None:
        self._model = model
        self._most_texts = _number(settings, "MAX_CLIENT_BATCH_SIZE", 32)
        self.most_concurrent_requests = _number(settings, "MAX_CONCURRENT_REQUESTS", 512)
        self._truncates = settings.get("AUTO_TRUNCATE", "true") == "true"
        version = tuple(map(int, re.findall(r"\d+", row.tag.partition("-tei")[2].partition("-")[0])))
        self._too_large = 422 if version >= _REFUSES_WITH_422_FROM else 413
        self._most_tokens = min(model.context, _number(settings, "MAX_BATCH_TOKENS", 16_384))
        _demand_settings(settings, model, self._most_tokens, truncates=self._truncates)

    def embed(self, content: Mapping[str, Any]) -> list[list[float]]:
        """The vectors. Raises RefusedError."""
        if "inputs" not in content:
            raise RefusedError("missing field `inputs`")
        if content.get("prompt_name") is not None:
            raise EngineRefusedError("`default-prompt-name` is set but no prompts were found", self._too_large)
        texts = self._taken(content["inputs"], "inputs", content)
        size = content.get("dimensions") or self._model.size
        if type(size) is not int or not 0 < size <= self._model.size:
            raise EngineRefusedError(f"`dimensions` must be at most {self._model.size}", 422)
        vectors = [vector_of(text, self._model.size)[:size] for text in texts]
        return vectors if content.get("normalize") is False else [unit(vector) for vector in vectors]

    def rank(self, content: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The texts by how well they fit the query, best first. Raises RefusedError."""
        query = content.get("query")
        if not isinstance(query, str) or not isinstance(content.get("texts"), list):
            raise RefusedError("missing field `query` or `texts`")
        texts = self._taken(content["texts"], "texts", content, beside=query)
        ranks = [
            {"index": index, "score": score_of(query, text, self._model.size)}
            | ({"text": text} if content.get("return_text") else {})
            for index, text in enumerate(texts)
        ]
        return sorted(ranks, key=lambda rank: -float(rank["score"]))

    def refused(self, error: RefusedError) -> EngineAnswer:
        """The answer to a body that is refused: 422 with a text if it can't be read, 400 if it holds nothing."""
        if not isinstance(error, EngineRefusedError):
            if "cannot be empty" in str(error):
                return json_answer(400, {"error": str(error), "error_type": "Empty"})
            text = f"Failed to deserialize the JSON body into the target type: {error}"
            return EngineAnswer(422, text.encode(), "text/plain; charset=utf-8")
        status = 422 if error.status == 400 else error.status
        return json_answer(status, {"error": str(error), "error_type": "Validation"})

    def overloaded(self) -> EngineAnswer:
        """The answer to a request too many."""
        return json_answer(429, {"error": "Model is overloaded", "error_type": "Overloaded"})

    def _taken(self, given: Any, key: str, content: Mapping[str, Any], beside: str = "") -> Sequence[str]:
        """The texts, if they are few and short enough. beside: what the model reads with each of them."""
        if len(str(given)) > _LARGEST_BODY:
            raise EngineRefusedError("length limit exceeded", 413)
        texts = self._model.texts(given, key)
        if len(texts) > self._most_texts:
            message = f"batch size {len(texts)} > maximum allowed batch size {self._most_texts}"
            raise EngineRefusedError(message, self._too_large)
        cuts = content.get("truncate", self._truncates)
        longest = max(self._model.tokens(f"{beside} {text}") for text in texts)
        if longest > self._most_tokens and not cuts:
            message = f"`inputs` must have less than {self._most_tokens} tokens. Given: {longest}"
            raise EngineRefusedError(message, self._too_large)
        return texts


class LmiForm:
    """Requests and answers of LMI's vLLM with option.task: text-embedding (djl_python/lmi_vllm)."""

    most_concurrent_requests = LMI.room[1]

    def __init__(self, row: CatalogRow, settings: Mapping[str, str], model: VectorModel) -> None:
        self._row, self._model = row, model
        self._name = settings.get("OPTION_SERVED_MODEL_NAME") or "lmi"

    def embed(self, content: Mapping[str, Any]) -> list[list[float]]:
        """The vectors; it ignores all parameters but `model`. Raises RefusedError."""
        if content.get("model") not in (None, self._name):
            raise EngineRefusedError(f"The model `{content['model']}` does not exist.", 404, "model")
        texts = self._model.texts(content.get("inputs"), "inputs")
        demand_short(self._model, texts)
        return [vector_of(text, self._model.size) for text in texts]

    def rank(self, content: Mapping[str, Any]) -> list[dict[str, Any]]:
        """LMI scores nothing. Raises RefusedError."""
        raise RefusedError("'inputs' must be a string or list of strings")

    def refused(self, error: RefusedError) -> EngineAnswer:
        """The answer to a body that is refused."""
        return json_answer(*LMI.refusal(self._row, error, True))

    def overloaded(self) -> EngineAnswer:
        """The answer to a request too many."""
        return json_answer(LMI.overloaded, LMI.error(LMI.overloaded, "The model has too many requests"))


def demand_short(model: VectorModel, texts: Sequence[str]) -> None:
    """Refuse a text that is longer than the model's context, as vLLM does."""
    longest = max(map(model.tokens, texts))
    if longest > model.context:
        message = f"This model's maximum context length is {model.context} tokens. However, you requested {longest} "
        raise EngineRefusedError(f"{message}tokens in the input for embedding generation.")


def _demand_settings(settings: Mapping[str, str], model: VectorModel, most_tokens: int, *, truncates: bool) -> None:
    if settings.get("DTYPE", "float32") not in _DTYPES:
        raise StartError(f"error: invalid value {settings['DTYPE']!r} for '--dtype <DTYPE>'")
    if settings.get("POOLING", "cls") not in _POOLINGS:
        raise StartError(f"error: invalid value {settings['POOLING']!r} for '--pooling <POOLING>'")
    if most_tokens < model.context and not truncates:
        raise StartError(
            f"Error: The maximum input length is `{model.context}` which exceeds `--max-batch-tokens={most_tokens}`."
        )


def _number(settings: Mapping[str, str], name: str, default: int) -> int:
    given = settings.get(name) or str(default)
    if not given.isdecimal() or not int(given):
        raise StartError(f"error: invalid value {given!r} for {name}")
    return int(given)

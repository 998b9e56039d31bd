"""A container whose engine makes vectors or scores: reads a body, applies the engine's limits, and answers."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from local_cloud.model_server.contract.answer import (
    EngineAnswer,
    EngineRefusedError,
    RefusedError,
    json_answer,
    json_object,
)
from local_cloud.model_server.embeddings.model import VectorModel, model_of
from local_cloud.model_server.embeddings.openai_form import OpenAIForm
from local_cloud.model_server.embeddings.tei_form import LmiForm, TeiForm
from local_cloud.model_server.text.catalog_row import CatalogRow

_EMBEDDING_TASKS = ("text-embedding", "feature-extraction")


def makes_vectors(row: CatalogRow, settings: Mapping[str, str]) -> bool:
    """Whether the settings tell this image to make vectors or scores."""
    if row.server == "djl":
        return settings.get("OPTION_TASK") in _EMBEDDING_TASKS and bool(row.tasks)
    return row.server == "tei" or (row.server == "vllm" and settings.get("SM_VLLM_RUNNER") == "pooling")


class Form(Protocol):
    """The requests, answers and refusals of one kind of engine."""

    @property
    def most_concurrent_requests(self) -> int: ...
    def embed(self, content: Mapping[str, Any]) -> Any: ...
    def rank(self, content: Mapping[str, Any]) -> Any: ...
    def refused(self, error: RefusedError) -> EngineAnswer: ...
    def overloaded(self) -> EngineAnswer: ...


_FORMS: Mapping[str, Callable[[CatalogRow, Mapping[str, str], VectorModel], Form]] = {
    "tei": TeiForm,
    "djl": LmiForm,
    "vllm": OpenAIForm,
}


class VectorEngine:
    """Answers invocations with vectors or scores. Raises StartError for settings that the container refuses."""

    def __init__(self, row: CatalogRow, settings: Mapping[str, str]) -> None:
        self._model = model_of(row, settings)
        self._form = _FORMS[row.server](row, settings, self._model)
        self.most_concurrent_requests = self._form.most_concurrent_requests

    def refuse_overload(self) -> EngineAnswer:
        """The answer to a request beyond `most_concurrent_requests`."""
        return self._form.overloaded()

    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer:
        """The answer to one body."""
        try:
            content = json_object(raw)
            if "messages" in content or "prompt" in content:
                raise EngineRefusedError("The model does not support text generation")
            scores = "query" in content if self._model.scores is None else self._model.scores
            answer = self._form.rank(content) if scores else self._form.embed(content)
        except RefusedError as error:
            return self._form.refused(error)
        return json_answer(200, answer, 1)

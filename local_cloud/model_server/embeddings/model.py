"""The model behind the vectors: what the catalog knows of it, and its texts as tokens."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_cloud.model_server.contract.answer import EngineRefusedError, RefusedError
from local_cloud.model_server.text.catalog_row import CatalogRow
from local_cloud.model_server.text.engine import MODELS

_SIZE, _CONTEXT = 384, 512  # of a model that the catalog does not know
_SPECIAL_TOKENS = 2  # at the ends of each text
_ROOM = 4  # characters of a token, so that long words count as several


@dataclass(frozen=True)
class VectorModel:
    """Facts of the model. scores: whether it scores texts for a query; None = the catalog does not know the model."""

    name: str
    size: int
    context: int
    vocabulary: int | None
    scores: bool | None

    def texts(self, given: Any, key: str) -> list[str]:
        """Return the texts of a body: one text, token ids, or a list of either. Raises RefusedError."""
        if _is_ids(given) or not isinstance(given, list):
            given = [given]
        if not given:
            raise RefusedError(f"`{key}` cannot be empty")
        return [self._text(each, key) for each in given]

    def tokens(self, text: str) -> int:
        """Return the number of tokens of a text, with those that the tokenizer adds."""
        return _SPECIAL_TOKENS + sum(-(-len(word) // _ROOM) for word in text.split())

    def _text(self, given: Any, key: str) -> str:
        if _is_ids(given):
            most = self.vocabulary or 2**31
            if wrong := next((each for each in given if not 0 <= each < most), None):
                raise EngineRefusedError(f"Token id {wrong} is out of vocabulary")
            return " ".join(map(str, given))
        if not isinstance(given, str):
            raise RefusedError(f"`{key}` must be a text, token ids, or a list of them")
        if not given:
            raise EngineRefusedError(f"`{key}` cannot be empty")
        return given


def model_of(row: CatalogRow, settings: Mapping[str, str]) -> VectorModel:
    """Return the model that the settings name."""
    name = settings.get(row.variables.get("model", "")) or settings.get("HF_MODEL_ID") or "model"
    rows: Sequence[dict[str, Any]] = json.loads(MODELS.read_text())["models"]
    known = next((each for each in rows if name in each["ids"]), {})
    limit = settings.get(row.variables.get("max_model_len", ""), "")
    context = known.get("context") or _CONTEXT
    return VectorModel(
        name=name,
        size=known.get("vector_size") or known.get("hidden_size") or _SIZE,
        context=min(context, int(limit)) if limit.isdecimal() else context,
        vocabulary=known.get("vocabulary"),
        scores=known["architecture"].endswith("Classification") if known else None,
    )


def _is_ids(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(type(each) is int for each in given)

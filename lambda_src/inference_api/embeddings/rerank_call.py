"""A checked request of POST /rerank: the engine's bodies, and the object that clients of Cohere and Jina share."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from inference_api.model.token_counts import is_count, pair_tokens
from inference_api.openai.parts import read_value
from inference_api.shared import errors
from inference_api.shared.runtime import runtime


@dataclass(frozen=True)
class RerankCall:
    """Documents that are ranked by what they have to do with a query.

    form: see OpenAIFacts.reranks. more: parameters that only the engine knows. model: the name that the answer shows.
    most: the number of results. shows_documents: whether the answer repeats their texts.
    """

    query: str
    documents: Sequence[str]
    form: str
    more: Mapping[str, Any]
    model: str
    most: int
    shows_documents: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The engine's body."""
        return {**self.more, "query": self.query, "texts" if self.form == "tei" else "documents": self.documents}

    def parts(self, most: int) -> Iterator["RerankCall"]:
        """Yield calls with at most `most` documents each."""
        for start in range(0, len(self.documents), most):
            yield replace(self, documents=self.documents[start : start + most])

    def shown(self, answer: bytes) -> tuple[list[float], int]:
        """Return the score of each document, and the tokens. Raises InvocationError for an answer without them."""
        value = read_value(answer)
        try:
            ranks = value if isinstance(value, list) else value["results"]
            scores = {each["index"]: each.get("relevance_score", each.get("score")) for each in ranks}
            usage = value.get("usage") if isinstance(value, dict) else None
            tokens: Any = (usage or {}).get("total_tokens")
            found = [scores[index] for index in range(len(self.documents))]
            if len(ranks) != len(found) or not all(map(isfinite, found)):
                raise errors.answer_not_vectors()
        except (AttributeError, LookupError, OverflowError, TypeError):
            raise errors.answer_not_vectors() from None
        return found, tokens if is_count(tokens) else pair_tokens(self.query, self.documents)

    def joined(self, parts: Sequence[tuple[list[Any], int]]) -> bytes:
        """Return the object, as JSON, from what `shown` returned for each part."""
        scores = enumerate(score for found, _ in parts for score in found)
        best = sorted(scores, key=lambda each: -each[1])[: self.most]
        results = [{"index": index, "relevance_score": score} | self._text(index) for index, score in best]
        usage = {"total_tokens": sum(tokens for _, tokens in parts)}
        document = {"id": f"rerank-{runtime().new_id()}", "model": self.model, "results": results, "usage": usage}
        return json.dumps(document).encode()

    def _text(self, index: int) -> dict[str, Any]:
        return {"document": {"text": self.documents[index]}} if self.shows_documents else {}

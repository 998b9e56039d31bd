"""A checked request of POST /embeddings: the engine's bodies, and OpenAI's object from its answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference_api.embeddings.vectors import read_vectors, shown
from inference_api.model.token_counts import tokens_by_length

Input = str | Sequence[int]


@dataclass(frozen=True)
class EmbeddingCall:
    """Texts, or lists of token ids, that become vectors.

    form: see OpenAIFacts.embeds. more: parameters that only the engine knows. model: the name that the answer shows.
    size: to how many numbers a vector is cut; None = it stays whole. is_base64: how the answer shows vectors.
    """

    inputs: Sequence[Input]
    form: str
    more: Mapping[str, Any]
    model: str
    size: int | None = None
    is_base64: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The engine's body."""
        if self.form == "tei":
            return {**self.more, "inputs": self.inputs}
        # A vector that must be cut is read as numbers in any case.
        encoding = "base64" if self.is_base64 and self.size is None else "float"
        return {**self.more, "input": self.inputs, "encoding_format": encoding}

    def parts(self, most: int) -> Iterator["EmbeddingCall"]:
        """Yield calls with at most `most` texts each."""
        for start in range(0, len(self.inputs), most):
            yield replace(self, inputs=self.inputs[start : start + most])

    def shown(self, answer: bytes) -> tuple[list[bytes], int]:
        """Return each vector as JSON, and the tokens. Raises InvocationError for an answer without them."""
        vectors, tokens = read_vectors(answer, len(self.inputs))
        encoded = [shown(each, self.size, is_base64=self.is_base64) for each in vectors]
        return encoded, sum(map(_tokens, self.inputs)) if tokens is None else tokens

    def joined(self, parts: Sequence[tuple[list[Any], int]]) -> bytes:
        """Return OpenAI's object, as JSON, from what `shown` returned for each part."""
        tokens = sum(tokens for _, tokens in parts)
        vectors = enumerate(vector for encoded, _ in parts for vector in encoded)
        data = b", ".join(b'{"object": "embedding", "index": %d, "embedding": %b}' % each for each in vectors)
        usage = json.dumps({"prompt_tokens": tokens, "total_tokens": tokens}).encode()
        model = json.dumps(self.model).encode()
        return b'{"object": "list", "data": [%b], "model": %b, "usage": %b}' % (data, model, usage)


def _tokens(given: Input) -> int:
    """Estimate the tokens of a text, for engines that don't count: TEI's answer holds only the vectors."""
    return tokens_by_length(len(given.encode())) if isinstance(given, str) else len(given)

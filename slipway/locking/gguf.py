"""Reads the header of a GGUF file: facts of the model, without its weights.

The format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3. PyPI's reader maps a whole local file into
memory, so it can't read by range.
"""

import math
import struct
from typing import Any

from llm_hosting.deployment.printable import printable
from slipway.locking.model_files import ModelFiles, UnreadableModelError

_PIECE_IN_BYTES = 2 * 1024 * 1024
_LONGEST_HEADER_IN_BYTES = 256 * 1024 * 1024  # vocabularies take a few million bytes
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS, _LONGEST_KEPT = 8, 1024  # longer arrays are vocabularies, of which the length is enough
_LONGEST_TEXT = 100


def read_gguf(model: ModelFiles, path: str, size: int) -> tuple[dict[str, Any], int]:
    """Read the metadata by key, and the number of parameters in this file. A long array is replaced by its length.

    Raises UnreadableModelError, and the errors of `read`.
    """
    header = _Header(model, path, size)
    if header.take(4) != b"GGUF" or header.number("I") not in (2, 3):
        raise header.broken("it is not a GGUF file of version 2 or 3")
    tensors, pairs = header.number("Q"), header.number("Q")
    metadata = {}
    for _ in range(pairs):
        key = header.text()
        metadata[key] = header.value(header.number("I"))
    return printable(metadata), sum(header.tensor() for _ in range(tensors))


def is_model(metadata: dict[str, Any]) -> bool:
    """Whether the file is a model: not an adapter, and not the part that reads images (`mmproj`)."""
    kind, architecture = metadata.get("general.type", "model"), metadata.get("general.architecture")
    return kind not in ("adapter", "mmproj", "imatrix") and architecture != "clip"


def short_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata without the tokenizer and long texts."""
    return {
        key: value
        for key, value in sorted(metadata.items())
        if not key.startswith("tokenizer.")
        and (math.isfinite(value) if isinstance(value, float) else isinstance(value, int | str))
        and len(str(value)) <= _LONGEST_TEXT
    }


def facts_of_gguf(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return facts of `ModelShape`, with the architecture as GGUF names it; None = the file does not tell."""
    architecture = str(metadata.get("general.architecture", ""))

    def each_of(name: str) -> list[int]:
        """Return the numbers under this key: one for all layers, or one for each layer."""
        found = metadata.get(f"{architecture}.{name}")
        return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, int)]

    def of(name: str) -> int | None:
        return max(each_of(name), default=0) or None

    heads, kv_heads, hidden = of("attention.head_count"), of("attention.head_count_kv"), of("embedding_length")
    layers = of("block_count")
    if len(by_layer := each_of("attention.head_count_kv")) > 1:  # 0 = a layer without a cache
        layers = sum(bool(each) for each in by_layer)
    return {
        "architecture": architecture,
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads or heads,
        "head_size": of("attention.key_length") or (hidden // heads if hidden and heads else None),
        "hidden_size": hidden,
        "intermediate_size": of("expert_feed_forward_length") or of("feed_forward_length"),
        "vocabulary": of("vocab_size") or _count(metadata.get("tokenizer.ggml.tokens")),
        "context": of("context_length"),
        "sliding_window": of("attention.sliding_window"),
        "latent_size": None,
        "dtype": None,
        "experts": of("expert_count"),
        "experts_per_token": of("expert_used_count"),
    }


def _count(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else None


class _Header:
    """Reads a file from the beginning, piece by piece."""

    def __init__(self, model: ModelFiles, path: str, size: int) -> None:
        self._model, self._path, self._size = model, path, size
        self._piece, self._read, self._at = b"", 0, 0

    def broken(self, why: str) -> UnreadableModelError:
        return UnreadableModelError(f"{self._path} of {self._model.place} is broken: {why}.")

    def take(self, count: int) -> bytes:
        while len(self._piece) - self._at < count:
            wanted = max(count, _PIECE_IN_BYTES)
            if self._read >= self._size or wanted > _LONGEST_HEADER_IN_BYTES or self._read > _LONGEST_HEADER_IN_BYTES:
                raise self.broken("its header is cut, or longer than any")
            more = self._model.read(self._path, self._read, min(wanted, self._size - self._read))
            if not more:
                raise self.broken("its header is cut")
            self._piece, self._at, self._read = self._piece[self._at :] + more, 0, self._read + len(more)
        taken = self._piece[self._at : self._at + count]
        self._at += count
        return taken

    def number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def text(self) -> str:
        return self.take(self.number("Q")).decode(errors="replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.number(self._form(kind))
        kind, count = self.number("I"), self.number("Q")
        if kind == _STRING:
            words = (self.text() for _ in range(count))
            return list(words) if count <= _LONGEST_KEPT else sum(1 for _ in words)
        form = self._form(kind)
        numbers = self.take(count * struct.calcsize(form))
        return list(struct.unpack(f"<{count}{form}", numbers)) if count <= _LONGEST_KEPT else count

    def tensor(self) -> int:
        """The number of weights in one tensor."""
        self.text()
        dimensions = self.number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise self.broken("it holds a tensor of no possible shape")
        weights: int = math.prod(self.number("Q") for _ in range(dimensions))
        self.take(12)  # type and offset
        return weights

    def _form(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise self.broken(f"it holds a value of the unknown type {kind}")
        return _NUMBERS[kind]

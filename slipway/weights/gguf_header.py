"""Reads the header of a GGUF file, and demands that the file holds all tensors of the header.

The format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3. PyPI's reader maps a whole local file into
memory, so it can't read by range.
"""

import math
import struct
from typing import Any

from llm_hosting.deployment.printable import printable
from slipway.weights.source import BrokenWeightsError, Source, broken, demand_no_disguise

_PIECE_IN_BYTES = 2 * 1024 * 1024
_LONGEST_HEADER_IN_BYTES = 256 * 1024 * 1024  # vocabularies take a few million bytes
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS, _LONGEST_KEPT = 8, 1024  # longer arrays are vocabularies, of which the length is enough
_ALIGNMENT_IN_BYTES = 32  # without `general.alignment`
# Weights in a block, and the block's bytes, by type (gguf 0.19, `GGML_QUANT_SIZES`).
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 16: (256, 66), 17: (256, 74), 18: (256, 98),
    19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4),
    27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36),
    41: (128, 18),
}  # fmt: skip


def read_gguf(source: Source, path: str, size: int) -> tuple[dict[str, Any], int]:
    """Read the metadata by key, and the number of parameters in this file. A long array is replaced by its length.

    llama.cpp does not load a file that ends before a tensor does ("data is not within the file bounds, model is
    corrupted or incomplete"). Raises BrokenWeightsError, and the errors of `read`.
    """
    header = _Header(source, path, size)
    if header.take(4) != b"GGUF" or header.number("I") not in (2, 3):
        raise header.broken("it is not a GGUF file of version 2 or 3")
    tensors, pairs = header.number("Q"), header.number("Q")
    metadata = {}
    for _ in range(pairs):
        key = header.text()
        metadata[key] = header.value(header.number("I"))
    weights, end = 0, 0
    for _ in range(tensors):
        count, its_end = header.tensor()
        weights, end = weights + count, max(end, its_end)
    alignment = metadata.get("general.alignment", _ALIGNMENT_IN_BYTES)
    if not isinstance(alignment, int) or alignment < 1:
        raise header.broken(f"its general.alignment is {alignment!r:.40}")
    described = -(-header.length // alignment) * alignment + end
    if tensors and described > size:
        raise header.broken(f"it has {size:,} bytes, and its header describes {described:,}")
    return printable(metadata), weights


class _Header:
    """Reads a file from the beginning, piece by piece."""

    def __init__(self, source: Source, path: str, size: int) -> None:
        self._source, self._path, self._size = source, path, size
        self._piece, self._read, self._at = b"", 0, 0

    @property
    def length(self) -> int:
        """Number of bytes that were taken."""
        return self._read - len(self._piece) + self._at

    def broken(self, why: str) -> BrokenWeightsError:
        return broken(self._source, self._path, why)

    def take(self, count: int) -> bytes:
        while len(self._piece) - self._at < count:
            wanted = max(count, _PIECE_IN_BYTES)
            if self._read >= self._size or wanted > _LONGEST_HEADER_IN_BYTES or self._read > _LONGEST_HEADER_IN_BYTES:
                raise self.broken("its header is cut, or longer than any")
            more = self._source.read(self._path, self._read, min(wanted, self._size - self._read))
            if not more:
                raise self.broken("its header is cut")
            if not self._read:
                demand_no_disguise(self._source, self._path, more)
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

    def tensor(self) -> tuple[int, int]:
        """Number of weights in one tensor, and its end in bytes after the header. An unknown type counts no bytes."""
        self.text()
        dimensions = self.number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise self.broken("it holds a tensor of no possible shape")
        weights: int = math.prod(self.number("Q") for _ in range(dimensions))
        block, its_bytes = _BLOCKS.get(self.number("I"), (1, 0))
        offset: int = self.number("Q")
        return weights, offset + weights // block * its_bytes

    def _form(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise self.broken(f"it holds a value of the unknown type {kind}")
        return _NUMBERS[kind]

"""The vectors in an engine's answer, kept as text: parsing and writing numbers would take longer than all else.

64 vectors of 1,024 numbers are 0.75 MB of JSON, which Python parses and writes in 30 ms, but finds in 1 ms.
"""

import json
import re
import sys
from array import array
from base64 import b64decode, b64encode
from math import sqrt
from typing import Any

from inference_api.model.token_counts import is_count
from inference_api.openai.parts import read_value
from inference_api.shared import errors

# Of an answer: 2,048 vectors of 1,024 numbers have 24 MB. Streaming functions pass on more than the 6 MB of others.
MOST_VECTOR_BYTES = 32_000_000

Vector = bytes | str  # a list of numbers as JSON, or base64 of little-endian float32

# No digit before the first one: a list that breaks off would otherwise be searched again from each of its digits.
_NUMBERS = re.compile(rb"\[[-+.eE,\s]*[0-9][-+0-9.eE,\s]*\]")


def read_vectors(answer: bytes, count: int) -> tuple[list[Vector], int | None]:
    """Return the vectors of an answer in order, and the tokens that the engine counted, if it did.

    Raises InvocationError unless there are `count` vectors of one length.
    """
    texts: list[bytes] = []

    def take(found: re.Match[bytes]) -> bytes:
        texts.append(found[0])
        return b"%d" % (len(texts) - 1)

    value = read_value(_NUMBERS.sub(take, answer))
    try:
        rows = value if isinstance(value, list) else _rows(value)
        tokens = None if isinstance(value, list) else (value.get("usage") or {}).get("prompt_tokens")
        vectors: list[Vector] = [each if isinstance(each, str) else texts[each] for each in rows]
    except (AttributeError, LookupError, TypeError):
        raise errors.answer_not_vectors() from None
    lengths = {len(each) if isinstance(each, str) else each.count(b",") for each in vectors}
    if len(vectors) != count or len(lengths) != 1:
        raise errors.answer_not_vectors()
    return vectors, tokens if is_count(tokens) else None


def shown(vector: Vector, size: int | None, *, is_base64: bool) -> bytes:
    """Return a vector as JSON: whole, or its first `size` numbers at the length 1."""
    if size is None and is_base64 == isinstance(vector, str):
        return vector if isinstance(vector, bytes) else json.dumps(vector).encode()
    numbers = _cut(_numbers(vector), size)
    if not is_base64:
        return json.dumps(numbers.tolist()).encode()
    if sys.byteorder == "big":
        numbers.byteswap()
    return b'"%b"' % b64encode(numbers.tobytes())


def _rows(value: Any) -> list[Any]:
    return [each["embedding"] for each in sorted(value["data"], key=lambda each: each["index"])]


def _numbers(vector: Vector) -> "array[float]":
    try:
        if isinstance(vector, bytes):
            return array("f", map(float, vector[1:-1].split(b",")))
        numbers = array("f", b64decode(vector, validate=True))
    except (ValueError, OverflowError):
        raise errors.answer_not_vectors() from None
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _cut(numbers: "array[float]", size: int | None) -> "array[float]":
    if size is None:
        return numbers
    if len(numbers) < size:
        raise errors.answer_not_vectors()
    first = numbers[:size]
    length = sqrt(sum(each * each for each in first)) or 1.0
    return array("f", (each / length for each in first))

"""Vectors of texts that share words and parts of words are near to each other; the same text has the same vector."""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

# Words that say little about the subject of a text.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about an and are as at be but by can did do does for from had has have how i if in into is it its my no not "
        "of on or our so that the their them then there these they this to was we were what when where which who why "
        "will with would you your",
    )
)
_WORD_WEIGHT, _PART_WEIGHT, _COMMON_WEIGHT = 1.0, 0.35, 0.05
_PART_LENGTH = 4
_PLACES = 8  # of a feature in the vector


def vector_of(text: str, size: int) -> list[float]:
    """Return the text's vector, of length 1."""
    vector = [0.0] * size
    for feature, weight in _features(text):
        for place, sign in _places(feature, size):
            vector[place] += sign * weight
    if not any(vector):
        vector[0] = 1.0
    return unit(vector)


def unit(vector: list[float]) -> list[float]:
    """Return the vector with the length 1."""
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def score_of(query: str, text: str, size: int) -> float:
    """Return how well a text fits a query, from 0 to 1."""
    near = math.fsum(a * b for a, b in zip(vector_of(query, size), vector_of(text, size), strict=True))
    return 1 / (1 + math.exp(-8 * (near - 0.4)))


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Yield words and parts of words with their weights; a word that comes again counts less."""
    counts: dict[str, int] = {}
    for word in re.findall(r"\w+", text.casefold()):
        counts[word] = counts.get(word, 0) + 1
    for word, count in counts.items():
        often = math.sqrt(count)
        if word in _COMMON:
            yield f"word {word}", _COMMON_WEIGHT * often
            continue
        yield f"word {word}", _WORD_WEIGHT * often
        padded = f"<{word}>"
        parts = {padded[start : start + _PART_LENGTH] for start in range(max(1, len(padded) - _PART_LENGTH + 1))}
        for part in sorted(parts):
            yield f"part {part}", _PART_WEIGHT * often


@lru_cache(maxsize=100_000)
def _places(feature: str, size: int) -> tuple[tuple[int, int], ...]:
    """Return the places of a feature in a vector, with their signs, spread over the whole vector."""
    digest = blake2b(feature.encode(), digest_size=4 * _PLACES).digest()
    numbers = (int.from_bytes(digest[start : start + 4]) for start in range(0, len(digest), 4))
    return tuple(((number >> 1) % size, 1 if number & 1 else -1) for number in numbers)

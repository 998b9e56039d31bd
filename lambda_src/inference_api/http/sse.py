"""JSON values -> server-sent events, as OpenAI's clients read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(value: Any, name: str = "") -> bytes:
    """Return one event, its data on one line. It is ASCII, so neither a cut on the network nor half a character can
    break it.
    """
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def events(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield an event for each value, then the end that clients wait for."""
    for value in values:
        yield event(value)
    yield DONE


def is_token(piece: bytes) -> bool:
    """Whether a piece of a stream counts as a token of an engine that reports none: a chunk, or an event with a delta.

    A piece may hold several events that one chunk has made.
    """
    return (piece.startswith(b"data: ") and piece != DONE) or b".delta\ndata: " in piece

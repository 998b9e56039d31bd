"""JSON values -> server-sent events, as OpenAI's clients read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    """Return one event on one line. It is ASCII, so neither a cut on the network nor half a character can break it."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def events(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield an event for each value, then the end that clients wait for."""
    for value in values:
        yield event(value)
    yield DONE

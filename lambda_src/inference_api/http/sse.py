"""JSON values -> server-sent events, as OpenAI's clients read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    """One event on one line, in ASCII: wherever the network cuts it, and whatever half characters a model makes."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def events(values: Iterable[Any]) -> Iterator[bytes]:
    """An event for each value, and the end that clients wait for."""
    for value in values:
        yield event(value)
    yield DONE

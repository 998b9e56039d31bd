"""An answer to one invocation, a refused request, a failed start."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """A response; `steps` are decoding steps, in which the prompts of one request advance together."""

    status: int
    body: bytes
    content_type: str = "application/json"
    steps: int = 0


def json_answer(status: int, body: object, steps: int = 0) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, json.dumps(body).encode(), steps=steps)


class RefusedError(Exception):
    """The engine does not take this request; the message is for its caller."""


class StartError(Exception):
    """The container cannot start with this environment; the message is the last line of its log."""

"""The outcomes of a container: an answer to one invocation, a refused request, a failed start."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EngineAnswer:
    """A response. `steps` is the number of decoding steps; the prompts of one request advance together.

    parts: a streamed answer, one part for each step; the body is then empty. ending: what follows the last part.
    broken: how an unfinished stream ends. Parts raise EngineFailedError.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    steps: int = 0
    parts: Iterator[bytes] | None = None
    ending: Callable[[], bytes] = bytes
    broken: bytes = b""


def json_answer(status: int, body: object, steps: int = 0) -> EngineAnswer:
    """An answer with a JSON body."""
    return EngineAnswer(status, json.dumps(body).encode(), steps=steps)


class RefusedError(Exception):
    """The server cannot read this request; the message is for the caller."""


def json_object(raw: bytes) -> dict[str, Any]:
    """The object in the body of a request. Raises RefusedError."""
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise RefusedError("the body must be an object")
    return content


class EngineRefusedError(RefusedError):
    """The engine refuses a readable request; like vLLM it names a status and the wrong member."""

    def __init__(self, message: str, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param = status, param

    @property
    def kind(self) -> str:
        """vLLM's `type`."""
        return "NotFoundError" if self.status == 404 else "BadRequestError"


class EngineFailedError(Exception):
    """The engine can't answer a sound request; the message is for the caller."""


class StartError(Exception):
    """The container cannot start; the message becomes the last line of its log."""

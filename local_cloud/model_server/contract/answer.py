"""An answer to one invocation, a refused request, a failed start."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineAnswer:
    """A response; `steps` are decoding steps, in which the prompts of one request advance together.

    parts: of a streamed answer, one for each step; then there is no body. broken: how a stream ends that an engine does
    not finish.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    steps: int = 0
    parts: tuple[bytes, ...] = ()
    broken: bytes = b""


def json_answer(status: int, body: object, steps: int = 0) -> EngineAnswer:
    """An answer with a JSON body."""
    return EngineAnswer(status, json.dumps(body).encode(), steps=steps)


class RefusedError(Exception):
    """The server can't read this request; the message is for its caller."""


class EngineRefusedError(RefusedError):
    """The engine does not take a request that the server has read; with a status and the member at fault, as vLLM."""

    def __init__(self, message: str, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param = status, param

    @property
    def kind(self) -> str:
        """vLLM's `type`."""
        return "NotFoundError" if self.status == 404 else "BadRequestError"


class StartError(Exception):
    """The container cannot start with this environment; the message is the last line of its log."""

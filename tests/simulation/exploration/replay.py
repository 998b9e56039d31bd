"""A handler's next call, from its event and the answers it has got so far."""

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any, NamedTuple

from botocore.config import Config
from simulation.deployment import HANDLERS


class Call(NamedTuple):
    """A request to AWS."""

    operation: str
    arguments: Mapping[str, Any]


class Returned(NamedTuple):
    """The end of a run; `result` is None for a run that raised."""

    result: Any


class Answer(NamedTuple):
    """A response or an error, and what the function's clock showed when it came."""

    content: Any
    now: float


class _Paused(BaseException):
    """Ends a replay at its first call without an answer. Not an Exception, so that no handler catches it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.operation)
        self.call = call


class Replay:
    """Clients, clock and random source for handlers that run on recorded answers.

    A handler's behaviour follows from its event and its answers alone, so it is run anew for each new answer, and its
    local variables need not be part of a state.
    """

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self._position = 0
        self._began_at = 0.0
        self._job_number = 0
        self._log = io.StringIO()

    def next_of(self, function: str, event: Any, job_number: int, began_at: float, answers: list[Answer]) -> Any:
        """A Call or a Returned. job_number: of the job that a submission makes."""
        self._answers, self._position, self._began_at, self._job_number = answers, 0, began_at, job_number
        try:
            with redirect_stdout(self._log):
                return Returned(HANDLERS[function](event, self))
        except _Paused as paused:
            return paused.call
        except Exception:
            return Returned(None)
        finally:
            self._log.seek(0)

    def client(self, service: str, config: Config) -> Any:
        return _Client(self)

    def now(self) -> float:
        return self._answers[self._position - 1].now if self._position else self._began_at

    def get_remaining_time_in_millis(self) -> int:
        """As Lambda's context."""
        return 60_000

    def answer(self, call: Call) -> Any:
        if self._position == len(self._answers):
            raise _Paused(call)
        self._position += 1
        content = self._answers[self._position - 1].content
        if isinstance(content, Exception):
            raise content
        return content

    def getrandbits(self, bits: int) -> int:
        """The id of a new job; writers of rows are all the same."""
        return self._job_number if bits == 128 else 1

    def uniform(self, least: float, most: float) -> float:
        return least


class _Client:
    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda **arguments: self._replay.answer(Call(operation, arguments))

    def close(self) -> None:
        """Nothing is open."""

"""A handler's next call, by its event and the answers to its earlier calls."""

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from random import Random
from typing import Any, NamedTuple

from botocore.config import Config

from simulation.exploration import machine_turn
from simulation.world.deployment import HANDLERS

TURN = "machine_turn"
_HANDLERS = {**HANDLERS, TURN: machine_turn.handler}


class Call(NamedTuple):
    """A request to AWS."""

    operation: str
    arguments: Mapping[str, Any]


class Returned(NamedTuple):
    """The end of a run; result is None if it raised."""

    result: Any


class Answer(NamedTuple):
    """A response or an error, and the time when it came."""

    content: Any
    now: float


class _Paused(BaseException):
    """Ends a replay at its first call without an answer. Not an Exception, so that no handler catches it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.operation)
        self.call = call


class Replay:
    """Clients, clock and random source for handlers that run on recorded answers.

    A handler's next call follows from its event and answers alone. It runs anew for each answer, so that a state need
    not hold its local variables.
    """

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self._position = 0
        self._began_at = 0.0
        self._job_number = 0
        self._log = io.StringIO()
        self._supply: Callable[[Call], Answer | None] = lambda call: None
        self._supplied: list[Call] = []

    def next_of(
        self,
        function: str,
        event: Any,
        job_number: int,
        began_at: float,
        answers: list[Answer],
        supply: Callable[[Call], Answer | None],
    ) -> tuple[Call | Returned, list[Call]]:
        """Return the first call without an answer in `answers` or from `supply`, and the calls that `supply` answered.

        answers: gets those of `supply`, too. job_number: the number of the job that a submission makes.
        """
        self._supply, self._supplied = supply, list[Call]()
        self._answers, self._position, self._began_at, self._job_number = answers, 0, began_at, job_number
        try:
            with redirect_stdout(self._log):
                return Returned(_HANDLERS[function](event, self)), self._supplied
        except _Paused as paused:
            return paused.call, self._supplied
        except Exception:
            return Returned(None), self._supplied
        finally:
            self._log.seek(0)

    def client(self, service: str, config: Config) -> Any:
        return _Client(self)

    def now(self) -> float:
        return self._answers[self._position - 1].now if self._position else self._began_at

    def get_remaining_time_in_millis(self) -> int:
        """Return the time left, as Lambda's context does."""
        return 60_000

    def answer(self, call: Call) -> Any:
        if self._position == len(self._answers):
            supplied = self._supply(call)
            if supplied is None:
                raise _Paused(call)
            self._answers.append(supplied)
            self._supplied.append(call)
        self._position += 1
        content = self._answers[self._position - 1].content
        if isinstance(content, Exception):
            raise content
        return content

    def job_number(self) -> int:
        return self._job_number


class Chance(Random):
    """Fixed values: the id of a new job is its number, all writers of rows are the same, pauses are shortest."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(1)
        self._replay = replay

    def getrandbits(self, bits: int) -> int:
        return self._replay.job_number() if bits == 128 else 1

    def uniform(self, least: float, most: float) -> float:
        return least


class _Client:
    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def describe_endpoint(self, **arguments: Any) -> dict[str, Any]:
        """Answer without a step: whether this is called depends on the process, and nothing else can notice."""
        return {"EndpointStatus": "InService"}

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda **arguments: self._replay.answer(Call(operation, arguments))

    def close(self) -> None:
        """Do nothing: no connection is open."""

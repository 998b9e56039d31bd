"""Numbered histories of runs: the event of a function and the answers to its calls so far."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from simulation.exploration.replay import Answer, Call, Replay, Returned

Supply = Callable[[Call], Any]  # the content of an answer, or None


class History(NamedTuple):
    """The inputs of one run so far. job: the number of the job that it submits."""

    function: str
    event: str
    job: int
    began_at: float
    answers: tuple[Answer, ...]


class Histories:
    """Numbers histories. A new one is replayed up to its first call without an answer from `supply`."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._histories: list[History] = []
        self._next: dict[int, tuple[Call | Returned, str]] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}

    def __getitem__(self, number: int) -> History:
        return self._histories[number]

    def next_call(self, number: int) -> tuple[Call | Returned, str]:
        """Return the next call, and its text as a key of caches."""
        return self._next[number]

    def start(self, function: str, event: Any, job: int, now: float, supply: Supply) -> int:
        text = json.dumps(event, sort_keys=True)
        return self._number((function, text, job, now), History(function, text, job, now, ()), now, supply)

    def after(self, number: int, content: Any, now: float, supply: Supply) -> int:
        """Return the number of the history with one more answer."""
        answer, history = Answer(content, now), self._histories[number]
        longer = history._replace(answers=(*history.answers, answer))
        return self._number(_key(number, answer), longer, now, supply)

    def _number(self, key: tuple[Any, ...], history: History, now: float, supply: Supply) -> int:
        if key in self._numbers:
            return self._numbers[key]

        def answer_to(call: Call) -> Answer | None:
            content = supply(call)
            return None if content is None else Answer(content, now)

        function, event, job, began_at, known = history
        answers = list(known)
        last, supplied = self._replay.next_of(function, json.loads(event), job, began_at, answers, answer_to)
        first = number = self._add(key, history)
        for call, answer in zip(supplied, answers[len(known) :], strict=True):
            self._next[number] = call, repr(call)
            history = history._replace(answers=(*history.answers, answer))
            number = self._add(_key(number, answer), history)
        self._next[number] = last, repr(last)
        return first

    def _add(self, key: tuple[Any, ...], history: History) -> int:
        self._numbers[key] = len(self._histories)
        self._histories.append(history)
        return self._numbers[key]


def _key(number: int, answer: Answer) -> tuple[Any, ...]:
    return number, answer.now, repr(getattr(answer.content, "response", answer.content))

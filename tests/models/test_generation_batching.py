"""Concurrent requests: none waits for a longer one, and none fails because another does."""

import importlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_src.generation.batching import Batching, GenerationError, Pending
from model_src.generation.language_model import load
from model_src.generation.request import Sampling, parse
from model_src.generation.rows import Row
from support.patience import PATIENCE_IN_SECONDS

torch = importlib.import_module("torch")

LONG = {"prompt": "The value of", "length": 50, "seed": 1, "num_samples": 2}
SHORT = {"prompt": "def", "length": 3, "seed": 2, "num_samples": 2}
POISON = {"prompt": "An assignment", "length": 9, "seed": 3}


class WatchedBatching:
    """Batching whose model stands still in its first step until `go_on`.

    `look`: called before each step with the rows of that step; it may raise an error as the model would.
    """

    def __init__(self, weights: Path, most_requests: int = 4, most_tokens: float = 10_000) -> None:
        model = load(weights, "tiny", None)
        self.look: Callable[[list[Row]], None] = lambda rows: None
        self._works, self._may_go_on, forward = threading.Event(), threading.Event(), model.forward

        def watched(tokens: Any, mask: Any, cache: Any) -> Any:
            self._works.set()
            assert self._may_go_on.wait(PATIENCE_IN_SECONDS)
            self.look(next(group.rows for group in self.batching._groups if group._cache is cache))
            return forward(tokens, mask, cache)

        model.forward = watched  # type: ignore[method-assign]
        self.batching = Batching(model, most_requests, most_tokens)

    def submit(self, document: dict[str, Any]) -> Pending:
        return self.batching.submit(parse(json.dumps(document).encode(), Sampling()))

    def begin(self, document: dict[str, Any]) -> Pending:
        """Submit a request and wait for its first step."""
        pending = self.submit(document)
        assert self._works.wait(PATIENCE_IN_SECONDS)
        return pending

    def go_on(self) -> None:
        self._may_go_on.set()


def answer(pending: Pending) -> Any:
    assert pending.done.wait(PATIENCE_IN_SECONDS)
    return pending.answer()


@pytest.fixture(scope="module")
def alone(weights: Path) -> Callable[[dict[str, Any]], Any]:
    watched = WatchedBatching(weights)
    watched.go_on()
    return lambda document: answer(watched.submit(document))


def test_a_short_request_does_not_wait_for_the_end_of_a_long_one(
    weights: Path, alone: Callable[[dict[str, Any]], Any]
) -> None:
    watched = WatchedBatching(weights)
    long = watched.begin(LONG)
    short, done_at = watched.submit(SHORT), list[int]()
    watched.look = lambda _: done_at.append(len(long.rows[0].tokens)) if short.done.is_set() else None
    watched.go_on()
    assert (answer(long), answer(short)) == (alone(LONG), alone(SHORT))
    assert done_at[0] <= SHORT["length"] + 1  # type: ignore[operator]


def test_all_groups_together_keep_to_the_memory_and_the_number_of_requests(
    weights: Path, alone: Callable[[dict[str, Any]], Any]
) -> None:
    most_tokens, peaks, widths = 100, list[int](), list[int]()
    watched = WatchedBatching(weights, most_requests=3, most_tokens=most_tokens)
    first = watched.begin({**SHORT, "length": 30, "num_samples": 6})

    def look(_: list[Row]) -> None:
        masks = [group._mask for group in watched.batching._groups]
        peaks.append(sum(mask.numel() for mask in masks if mask is not None))
        widths.append(len(watched.batching._open))

    watched.look = look
    documents = [{**LONG, "length": 40 + seed % 3, "seed": seed} for seed in range(6)]
    waiting = [watched.submit(document) for document in documents]
    watched.go_on()
    assert [answer(each) for each in waiting] == [alone(document) for document in documents]
    assert len(answer(first)) == 6
    assert max(peaks) <= most_tokens
    assert max(widths) == 3


def test_a_request_with_many_rows_leaves_memory_for_a_short_one(weights: Path) -> None:
    watched = WatchedBatching(weights, most_requests=2, most_tokens=280)
    long = watched.begin({**LONG, "num_samples": 5})
    short = watched.submit(SHORT)
    still = list[bool]()
    watched.look = lambda _: still.append(not long.done.is_set()) if short.done.is_set() else None
    watched.go_on()
    answer(long)
    assert still
    assert all(still)


def test_a_request_that_fails_takes_no_other_along(weights: Path, alone: Callable[[dict[str, Any]], Any]) -> None:
    watched = WatchedBatching(weights)
    watched.begin({"prompt": "a", "length": 1})
    documents = [LONG, {**SHORT, "length": 8}]
    innocent, poison = [watched.submit(document) for document in documents], watched.submit(POISON)
    failed_with = []

    def look(rows: list[Row]) -> None:
        if poison.rows[0] in rows and len(poison.rows[0].tokens) == 4:
            failed_with.append(len(rows))
            raise ValueError("confidential")

    watched.look = look
    watched.go_on()
    assert [answer(each) for each in innocent] == [alone(document) for document in documents]
    with pytest.raises(GenerationError, match=r"the model failed: ValueError$"):
        answer(poison)
    assert failed_with == [5, 1]


def test_a_request_that_ran_out_of_memory_in_a_batch_begins_again_alone(
    weights: Path, alone: Callable[[dict[str, Any]], Any]
) -> None:
    watched = WatchedBatching(weights)
    long = watched.begin({**LONG, "length": 30})

    def look(_: list[Row]) -> None:
        if sum(len(group.rows) for group in watched.batching._groups) > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    watched.look = look
    short, large = watched.submit(SHORT), watched.submit({**SHORT, "num_samples": 3})
    watched.go_on()
    assert (answer(long), answer(short)) == (alone({**LONG, "length": 30}), alone(SHORT))
    with pytest.raises(GenerationError, match="too little memory for the request; ask for fewer or shorter answers"):
        answer(large)

"""Loops of a load test, on a route that answers at once with known times."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway.measuring.figures.results import MeasuredAnswer
from slipway.measuring.loads import Stop, closed, open_loop
from slipway.measuring.prompts import Prompt, Prompts, PromptsError, from_file
from slipway.measuring.routes import Name


class Known:
    """Answers with what it is given, and remembers how many asked at once."""

    name: Name = "chat"
    problem = ""

    def __init__(self, error: str | None = None, *, together: int = 1) -> None:
        self.answer, self.prompts = MeasuredAnswer(0, 0.1, 0.5, error=error), list[Prompt]()
        self._barrier = threading.Barrier(together)

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        self.prompts.append(prompt)
        self._barrier.wait(60)
        return self.answer


def prompts() -> Iterator[Prompt]:
    return Prompts("synthetic", 8, 4).drawn(1)


def nothing() -> None:
    pass


def test_a_closed_loop_has_its_clients_at_once_and_sends_so_many_requests() -> None:
    route = Known(together=4)
    load = closed(route, prompts(), 4, 12, Stop(), nothing)
    assert (load.clients, load.rate, len(load.answers)) == (4, None, 12)
    assert len({prompt.text for prompt in route.prompts}) == 12


def test_failures_count_as_requests() -> None:
    load = closed(Known("503"), prompts(), 2, 10, Stop(), nothing)
    assert [answer.error for answer in load.answers] == ["503"] * 10


def test_a_request_of_an_open_loop_starts_when_it_is_due() -> None:
    load = open_loop(Known(), prompts(), 200, 0.5, 3, Stop(), nothing)
    assert (load.clients, load.rate) == (None, 200)
    assert 50 < len(load.answers) < 150, "of 100 expected"
    due = [answer.started_in_s for answer in load.answers]
    assert due == sorted(due)
    assert due[-1] < 0.5
    assert all((answer.last_token_in_s or 0) >= 0.5 for answer in load.answers), "waiting counts"
    again = open_loop(Known(), prompts(), 200, 0.5, 3, Stop(), nothing)
    assert [answer.started_in_s for answer in again.answers] == due


def test_a_stopped_load_keeps_the_answers_so_far() -> None:
    stop, done = Stop(), []

    def tell() -> None:
        done.append(1)
        if len(done) == 5:
            stop("Ctrl-C")

    load = closed(Known(), prompts(), 1, 1000, stop, tell)
    assert (len(load.answers), load.unfinished, stop.reason) == (5, 0, "Ctrl-C")


def test_requests_that_a_stop_leaves_open_are_counted_apart() -> None:
    stop, ended = Stop(), threading.Event()

    class Slow(Known):
        def ask(self, prompt: Prompt) -> MeasuredAnswer:
            super().ask(prompt)
            if len(self.prompts) == 2:
                stop("Ctrl-C")
                ended.wait(60)
            return self.answer

    load = closed(Slow(), prompts(), 1, 10, stop, nothing)
    ended.set()
    assert (len(load.answers), load.unfinished) == (1, 1)


def test_a_spent_budget_ends_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    stop = Stop(at=50)
    load = closed(Known(), prompts(), 1, 1000, stop, nothing)
    assert 5 < len(load.answers) < 50
    assert stop.reason == "the budget is spent"


def test_prompts_are_as_long_as_asked_and_the_same_with_a_seed() -> None:
    drawn = [next(Prompts("synthetic", 40, 7).drawn(seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert (len(drawn[0].text.split()), drawn[0].answer_tokens) == (40, 7)


@pytest.mark.parametrize("content", ["", "\n", "{", "[]", "{}", '{"prompt": ""}', '{"prompt": "a", "max_tokens": 0}'])
def test_a_file_without_prompts_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(content)
    with pytest.raises(PromptsError, match=r"^--prompts: .*\.$"):
        from_file(path, 10)
    path.write_text('\ufeff{"prompt": "one\u2028\x85"}\r\n\n{"prompt": "two", "max_tokens": 5}', encoding="utf-8")
    assert from_file(path, 10).given == [Prompt("one\u2028\x85", 10), Prompt("two", 5)]

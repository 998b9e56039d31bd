"""Runs a load: a closed loop of clients, or an open loop of requests that are due at their times."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from slipway.measuring.figures.results import Load, MeasuredAnswer
from slipway.measuring.prompts import Prompt
from slipway.measuring.routes import MeasuredRoute

_MOST_AT_ONCE = 512  # of an open loop; later requests wait for a free one, and the wait counts in their times
_EVERY_IN_SECONDS = 0.2  # a budget is looked at


@dataclass
class Stop:
    """Ends a load early: when it is called with a reason, or at the time `at` of the monotonic clock."""

    at: float = float("inf")
    reason: str = ""
    event: threading.Event = field(default_factory=threading.Event)

    def __call__(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.event.set()

    @property
    def is_set(self) -> bool:
        if time.monotonic() >= self.at:
            self("the budget is spent")
        return self.event.is_set()


def closed(
    route: MeasuredRoute, prompts: Iterator[Prompt], clients: int, requests: int, stop: Stop, tell: Callable[[], None]
) -> Load:
    """Run a closed loop: each client sends its next request after an answer, until all are sent.

    tell: called after each answer.
    """
    run, lock, left = _Run(route, tell), threading.Lock(), [requests]

    def client() -> None:
        while not stop.is_set:
            with lock:
                if not left[0]:
                    return
                left[0] -= 1
                prompt = next(prompts)
            run.ask(prompt, run.elapsed())

    threads = [threading.Thread(target=client, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    _wait(threads, stop)
    return run.load(clients=clients)


def open_loop(
    route: MeasuredRoute,
    prompts: Iterator[Prompt],
    rate: float,
    seconds: float,
    seed: int,
    stop: Stop,
    tell: Callable[[], None],
) -> Load:
    """Run an open loop: requests arrive at random (Poisson) at this rate, whether answers arrive or not."""
    run, chance, due = _Run(route, tell), random.Random(seed), 0.0
    slots, threads = threading.Semaphore(_MOST_AT_ONCE), list[threading.Thread]()

    def ask(prompt: Prompt, due: float) -> None:
        run.ask(prompt, due)
        slots.release()

    while (due := due + chance.expovariate(rate)) < seconds and not stop.is_set:
        stop.event.wait(max(0.0, due - run.elapsed()))
        while not stop.is_set and not slots.acquire(timeout=_EVERY_IN_SECONDS):
            pass
        if not stop.is_set:
            threads.append(threading.Thread(target=ask, args=(next(prompts), due), daemon=True))
            threads[-1].start()
    _wait(threads, stop)
    return run.load(rate=rate)


def _wait(threads: Sequence[threading.Thread], stop: Stop) -> None:
    """Wait for all requests, or for the stop; then open answers are abandoned."""
    for thread in threads:
        while thread.is_alive() and not stop.is_set:
            thread.join(_EVERY_IN_SECONDS)


class _Run:
    def __init__(self, route: MeasuredRoute, tell: Callable[[], None]) -> None:
        self._route, self._tell = route, tell
        self._asked, self._answers = list[float](), list[MeasuredAnswer]()
        self._begin, self._cpu = time.monotonic(), time.process_time()
        self._end = 0.0

    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    def ask(self, prompt: Prompt, due: float) -> None:
        """Send one request. due: its start for the measurement, so that a wait for a free client counts."""
        self._asked.append(due)
        late = self.elapsed() - due
        answer = self._route.ask(prompt)
        self._answers.append(replace(_later(answer, late), started_in_s=due))
        self._end = self.elapsed()
        self._tell()

    def load(self, *, clients: int | None = None, rate: float | None = None) -> Load:
        answers = tuple(sorted(self._answers, key=lambda answer: answer.started_in_s))
        cores = (time.process_time() - self._cpu) / (self.elapsed() or 1)
        return Load(clients, rate, self._end, answers, len(self._asked) - len(answers), round(cores, 3))


def _later(answer: MeasuredAnswer, seconds: float) -> MeasuredAnswer:
    times = ("first_token_in_s", "last_token_in_s", "queued_in_s", "delivered_in_s")
    moved = {name: getattr(answer, name) for name in times if getattr(answer, name) is not None}
    return replace(answer, **{name: value + seconds for name, value in moved.items()})

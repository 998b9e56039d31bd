"""The model behind the endpoints: answers, run times, errors and crashes."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from simulation.runtime.faults import Faults
from simulation.runtime.scheduler import Scheduler, Timer

# A text in every prompt and answer, so that a leak into a log, a row or an event is found.
CANARY = "canary-c0ffee"
# The model refuses every prompt with this text, every time.
REFUSED = "refuse me"
RESTART_IN_SECONDS = 90


class Answer(NamedTuple):
    """The container's response. Status 0: the container died before it answered."""

    status: int
    body: bytes


@dataclass
class Run:
    """One run of the model for an attempt of a job. answer: None until the end. given_back: it did not count."""

    prompt: str
    job: str
    attempt: int
    started_at: float
    ended_at: float = 0.0
    answer: Answer | None = None
    end: Timer | None = None
    given_back: bool = False


@dataclass
class Model:
    """The model. Answers take `median` seconds, at most `longest`. Only the endpoints limit the number of runs."""

    scheduler: Scheduler
    random: Random
    faults: Faults
    median: float = 3.0
    longest: float = 40.0
    long_answers: float = 0.06
    runs: list[Run] = field(default_factory=list)
    running: dict[int, tuple[Run, Callable[[Answer], None]]] = field(default_factory=dict)
    most_running: int = 0
    ready_at: float = 0.0

    @property
    def is_ready(self) -> bool:
        return self.scheduler.now >= self.ready_at

    def start(self, body: bytes, job: str, attempt: int, on_end: Callable[[Answer], None]) -> Run:
        """Start a run. on_end: called once, with the container's answer."""
        run = Run(prompt_of(body), job, attempt, self.scheduler.now)
        self.runs.append(run)
        self.running[id(run)] = run, on_end
        self.most_running = max(self.most_running, len(self.running))
        rates = self.faults.rates
        seconds = min(self.random.lognormvariate(0, 0.6) * self.median, self.longest)
        if self.faults.happens("model slow", rates.slow_answer):
            seconds = self.random.uniform(60, 1200)
        if self.faults.happens("model crashed", rates.model_crash):
            self.scheduler.call_later(self.random.uniform(0, seconds), self.crash)
        run.end = self.scheduler.call_later(seconds, lambda: self._end(run, self._answer(run)))
        return run

    def stop(self, run: Run) -> None:
        """Stop a run, because the endpoint has given up waiting."""
        if run.end:
            run.end.cancel()
        if self.running.pop(id(run), None):
            run.ended_at = self.scheduler.now

    def crash(self) -> None:
        """Lose all runs, and restart the container."""
        self.ready_at = self.scheduler.now + RESTART_IN_SECONDS
        for run, _ in list(self.running.values()):
            if run.end:
                run.end.cancel()
            self._end(run, Answer(0, b""))

    def _end(self, run: Run, answer: Answer) -> None:
        _, on_end = self.running.pop(id(run))
        run.ended_at, run.answer = self.scheduler.now, answer
        on_end(answer)

    def _answer(self, run: Run) -> Answer:
        if REFUSED in run.prompt:
            return Answer(422, f"{CANARY}: this prompt is refused".encode())
        if self.faults.happens("model error", self.faults.rates.model_error):
            return Answer(self.random.choice((500, 502)), f"{CANARY}: out of memory".encode())
        if self.faults.happens("answer empty", self.faults.rates.broken_output / 3):
            return Answer(200, b"")
        length = self.random.choices(
            (20, 50_000, 150_000), (1 - self.long_answers, self.long_answers * 2 / 3, self.long_answers / 3)
        )[0]
        if self.faults.happens("answer oversize", self.faults.rates.broken_output / 20):
            length = 5_500_000
        return Answer(200, answer_to(run.prompt, len(self.runs), length))


def body_for(prompt: str) -> bytes:
    """Return a request body with the canary."""
    return json.dumps({"inputs": f"{CANARY} {prompt}", "parameters": {"max_new_tokens": 20}}).encode()


def prompt_of(body: bytes) -> str:
    document = json.loads(body)
    prompt: str = document.get("inputs") or document["prompt"]
    return prompt.removeprefix(f"{CANARY} ")


def answer_to(prompt: str, run: int, length: int) -> bytes:
    """Return an answer to a prompt, which is different for each run."""
    return json.dumps({"generated_text": f"{CANARY} run {run} answers <{prompt}> " + "la " * (length // 3)}).encode()


def prompt_answered(output: Any) -> str | None:
    """Return the prompt that an output answers."""
    text = output.get("generated_text", "") if isinstance(output, dict) else str(output)
    found = re.search(r"answers <(.*?)>", text[:1000])
    return found[1] if found else None

"""The model behind the endpoints: what it says to a prompt, how long that takes, and when it breaks."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from simulation.faults import Faults
from simulation.scheduler import Scheduler, Timer

# In every prompt and every answer, so that a leak into a log, a row or an event is seen.
CANARY = "canary-c0ffee"
# In a prompt that the model refuses, each time it is asked.
REFUSED = "refuse me"
RESTART_IN_SECONDS = 90


class Answer(NamedTuple):
    """What the container sends: its own status and body. Status 0 is none at all, since it died."""

    status: int
    body: bytes


@dataclass
class Run:
    """One prompt that the model works on. `job` and `attempt` say for whom; `answer` is None until it ends."""

    prompt: str
    job: str
    attempt: int
    started_at: float
    ended_at: float = 0.0
    answer: Answer | None = None
    end: Timer | None = None


@dataclass
class Model:
    """`median` seconds for an answer; nothing is refused for being too many: that is the endpoints' part."""

    scheduler: Scheduler
    random: Random
    plan: Faults
    median: float = 3.0
    longest: float = 40.0
    runs: list[Run] = field(default_factory=list)
    running: dict[int, tuple[Run, Callable[[Answer], None]]] = field(default_factory=dict)
    most_running: int = 0
    ready_at: float = 0.0

    @property
    def is_ready(self) -> bool:
        return self.scheduler.now >= self.ready_at

    def start(self, body: bytes, job: str, attempt: int, on_end: Callable[[Answer], None]) -> Run:
        """`on_end` is called with the container's answer, once."""
        run = Run(prompt_of(body), job, attempt, self.scheduler.now)
        self.runs.append(run)
        self.running[id(run)] = run, on_end
        self.most_running = max(self.most_running, len(self.running))
        rates = self.plan.rates
        seconds = min(self.random.lognormvariate(0, 0.6) * self.median, self.longest)
        if self.plan.happens("model slow", rates.slow_answer):
            seconds = self.random.uniform(60, 1200)
        if self.plan.happens("model crashed", rates.model_crash):
            self.scheduler.call_later(self.random.uniform(0, seconds), self.crash)
        run.end = self.scheduler.call_later(seconds, lambda: self._end(run, self._answer(run)))
        return run

    def stop(self, run: Run) -> None:
        """Whoever asked waits no longer."""
        if run.end:
            run.end.cancel()
        if self.running.pop(id(run), None):
            run.ended_at = self.scheduler.now

    def crash(self) -> None:
        """Everything in flight is lost, and the container starts again."""
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
        if self.plan.happens("model error", self.plan.rates.model_error):
            return Answer(self.random.choice((500, 502)), f"{CANARY}: out of memory".encode())
        if self.plan.happens("answer empty", self.plan.rates.broken_output / 3):
            return Answer(200, b"")
        length = self.random.choices((20, 50_000, 150_000), (0.94, 0.04, 0.02))[0]
        if self.plan.happens("answer oversize", self.plan.rates.broken_output / 20):
            length = 5_500_000
        return Answer(200, answer_to(run.prompt, len(self.runs), length))


def body_for(prompt: str) -> bytes:
    """A request as callers send it; the canary is in it."""
    return json.dumps({"inputs": f"{CANARY} {prompt}", "parameters": {"max_new_tokens": 20}}).encode()


def prompt_of(body: bytes) -> str:
    prompt: str = json.loads(body)["inputs"]
    return prompt.removeprefix(f"{CANARY} ")


def answer_to(prompt: str, run: int, length: int) -> bytes:
    """No two runs say the same."""
    return json.dumps({"generated_text": f"{CANARY} run {run} answers <{prompt}> " + "la " * (length // 3)}).encode()


def prompt_answered(output: Any) -> str | None:
    """The prompt that an answer is about, as whoever reads the answer can tell."""
    text = output.get("generated_text", "") if isinstance(output, dict) else str(output)
    found = re.search(r"answers <(.*?)>", text[:1000])
    return found[1] if found else None

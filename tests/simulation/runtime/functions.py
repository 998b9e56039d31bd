"""Lambda: functions run as tasks and die at their timeout; their log is searched for texts of callers."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random
from typing import Any

from simulation.runtime.faults import Faults
from simulation.runtime.model import CANARY
from simulation.runtime.scheduler import Killed, Scheduler, Signal, Task
from support.whole_answers import whole

Handler = Callable[[Any, Any], Any]


class Invocation:
    """One run of a function. outcome: "returned", "raised", "crashed" or "timed out". Only the first has a `result`."""

    def __init__(self, function: Function, event: Any, started_at: float) -> None:
        self.function = function
        self.event = event
        self.started_at = started_at
        self.ended_at: float | None = None
        self.disturbed = False
        self.clock_error = 0.0
        self.answer_by = inf
        self.threads: list[Task] = []
        self.result: Any = None
        self.outcome = "running"
        self.task: Task | None = None

    def ended_before(self, at: float) -> bool:
        return self.ended_at is not None and self.ended_at < at

    @property
    def finished(self) -> Signal:
        assert self.task is not None  # not `if self.task`: a task that has not begun is false
        return self.task.finished


@dataclass(frozen=True)
class Context:
    """Lambda's context of one invocation."""

    function_name: str
    aws_request_id: str
    ends_at: float
    scheduler: Scheduler

    def get_remaining_time_in_millis(self) -> int:
        return int(1000 * (self.ends_at - self.scheduler.now))


@dataclass
class Function:
    """A handler with its timeout in seconds."""

    name: str
    handler: Handler
    timeout: float
    functions: Functions

    def start(self, event: Any) -> Invocation:
        """Start one run. Its `finished` signal is set however it ends."""
        return self.functions.start(self, event)


@dataclass
class Functions:
    """All functions of a deployment, and their open runs. observers: called at the end of each run."""

    scheduler: Scheduler
    random: Random
    faults: Faults
    clock_skew: float = 0.0
    by_name: dict[str, Function] = field(default_factory=dict)
    running: dict[Task, Invocation] = field(default_factory=dict)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    observers: list[Callable[[Invocation], None]] = field(default_factory=list)

    def add(self, name: str, handler: Handler, timeout: float) -> Function:
        self.by_name[name] = Function(name, handler, timeout, self)
        return self.by_name[name]

    @property
    def timeouts(self) -> int:
        """Return the number of runs that timed out."""
        return sum(count for (_, outcome), count in self.outcomes.items() if outcome == "timed out")

    def current(self) -> Invocation:
        """Return the invocation of the current task."""
        return self.running[self.scheduler.current()]

    def now(self) -> float:
        """Return the time of the running function's clock, to the millisecond."""
        return round(self.scheduler.now + self.current().clock_error, 3)

    def answer_before(self, moment: float) -> None:
        """Limit the tries of the running function's calls, by its own clock."""
        self.current().answer_by = moment

    def has_time_for(self, seconds: float) -> bool:
        return not seconds or self.now() + seconds <= self.current().answer_by

    def side_by_side(self, work: Callable[[Any], None], items: Iterator[Any], most: int) -> None:
        """Work in threads of the running function, as in `Runtime`."""
        running: list[Signal] = []

        def wait_for_one() -> None:
            if not any(end.is_set for end in running):
                freed = Signal(self.scheduler)
                for end in running:
                    end.then(freed.set)
                freed.wait()
            running[:] = [end for end in running if not end.is_set]

        try:
            for item in items:
                running.append(self.thread(partial(work, item)).finished)
                running[:] = [end for end in running if not end.is_set]
                if len(running) == most:
                    wait_for_one()
        finally:
            while running:
                wait_for_one()

    def alongside(self, work: Callable[[], None], beat: Callable[[], None], seconds: float) -> None:
        """Run `work`, and call `beat` in a thread of the running function every `seconds` until it has ended."""
        done = Signal(self.scheduler)

        def run() -> None:
            while not done.wait(seconds):
                beat()

        thread = self.thread(run)
        try:
            work()
        finally:
            done.set()
            thread.finished.wait()

    def thread(self, work: Callable[[], None]) -> Task:
        """Start a thread of the running function. If one of its threads dies, all die."""
        invocation = self.current()

        def run() -> None:
            died = True
            try:
                work()
                died = False
            finally:
                if invocation.ended_at is None:
                    invocation.threads.remove(self.scheduler.current())
                    del self.running[self.scheduler.current()]
                if died and invocation.task:
                    invocation.task.kill()

        thread = self.scheduler.spawn(run)
        invocation.threads.append(thread)
        self.running[thread] = invocation
        return thread

    def start(self, function: Function, event: Any) -> Invocation:
        invocation = Invocation(function, event, self.scheduler.now)
        if self.clock_skew:
            invocation.clock_error = self.random.uniform(-self.clock_skew, self.clock_skew)
        task = invocation.task = self.scheduler.spawn(lambda: self._run(invocation))
        limit = self.scheduler.call_later(function.timeout, lambda: self._time_out(invocation))
        self.running[task] = invocation

        def end() -> None:
            limit.cancel()
            for each in (task, *invocation.threads):
                del self.running[each]
            for thread in invocation.threads:
                thread.kill()
            invocation.threads = []
            invocation.ended_at = self.scheduler.now
            self.outcomes[function.name, invocation.outcome] += 1
            for observe in self.observers:
                observe(invocation)

        task.finished.then(end)
        return invocation

    def _run(self, invocation: Invocation) -> None:
        function = invocation.function
        request_id = f"{self.random.getrandbits(64):016x}"
        context = Context(function.name, request_id, self.scheduler.now + function.timeout, self.scheduler)
        try:
            invocation.result = whole(function.handler(invocation.event, context))
            json.dumps(invocation.result)  # as Lambda does: a result that is not JSON fails the run
            invocation.outcome = "returned"
        except Killed:
            if invocation.outcome == "running":
                invocation.outcome = "crashed"
            raise
        except Exception as error:
            invocation.outcome = "raised"
            print(f"[ERROR] {type(error).__name__}: {error}")  # as Lambda's runtime logs it, message included

    def _time_out(self, invocation: Invocation) -> None:
        if invocation.outcome == "running" and invocation.task is not None:
            invocation.outcome = "timed out"
            invocation.task.kill()


class Log(io.TextIOBase):
    """Standard output of all functions: counts the metrics, and keeps lines with a prompt or an answer as leaks."""

    def __init__(self) -> None:
        self.metrics: Counter[str] = Counter()
        self.leaks: list[str] = []

    def write(self, text: str) -> int:
        if CANARY in text:
            self.leaks.append(text)
        if text.startswith("{"):
            line = json.loads(text)
            for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
                for metric in directive["Metrics"]:
                    self.metrics[metric["Name"]] += line[metric["Name"]]
        return len(text)

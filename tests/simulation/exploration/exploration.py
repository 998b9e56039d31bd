"""Breadth-first search of all reachable states, up to the first broken invariant."""

import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from inference_api.jobs.state import transitions
from inference_api.machines import parts
from inference_api.machines.row import SILENT_IN_SECONDS, machine_key
from inference_api.shared import runtime
from simulation.aws.ec2 import RUNNING as RUNNING_MACHINE
from simulation.aws.ec2 import STOPPED
from simulation.aws.ec2 import STOPPING as STOPPING_MACHINE
from simulation.callers.trial import Trial
from simulation.exploration.functions import RETENTION_IN_SECONDS, BrokenError, Functions
from simulation.exploration.machine_turn import INSTANCE
from simulation.exploration.replay import TURN, Chance, Replay
from simulation.exploration.services import Services
from simulation.exploration.settling import broken_at_rest
from simulation.exploration.state import (
    CLAIMS,
    FAILED,
    LAST_MOMENTS,
    OUTPUT,
    OVER,
    OVERDUE,
    REFUSED,
    RUNNING,
    TOO_LATE,
    State,
)
from simulation.runtime.faults import Faults, Rates
from simulation.runtime.gateway import http_event
from simulation.runtime.model import body_for
from simulation.runtime.scheduler import Scheduler
from simulation.world.deployment import Deployment, clear_caches

START = 1000.0
# The latest start of an attempt is 100 s after acceptance, so that a lease of 120 s may still be held then.
_LATEST_START, _MARGIN = 100, 300
Step = tuple[str, State | BrokenError]


@dataclass(frozen=True)
class Scope:
    """The limits of a search: jobs of one owner with `slots` open jobs; sweepers, workers and functions `at_once`."""

    mode: str
    jobs: int = 1
    slots: int = 1
    sweepers: int = 1
    workers: int = 2
    same_key: bool = False
    at_once: int = 2
    most_states: int = 1_000_000


@dataclass
class Found:
    """The first broken invariant and the shortest history that breaks it."""

    states: int = 0
    steps: int = 0
    is_complete: bool = True
    seconds: float = 0
    broken: BrokenError | None = None
    history: list[str] = field(default_factory=list)

    @property
    def invariant(self) -> str | None:
        return self.broken.invariant if self.broken else None

    def __str__(self) -> str:
        counted = f"{self.states:,} states, {self.steps:,} steps, {self.seconds:.1f} s"
        story = "".join(f"\n    {number}. {step}" for number, step in enumerate(self.history, 1))
        return f"{self.broken or 'every invariant holds'}: {counted}{story}"


class Exploration:
    """Explores the handlers as they are when run() is called."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        timeout = 900 if scope.mode == "async" else 60
        deadline = _LATEST_START + _MARGIN + timeout
        times = (START, START + _LATEST_START + 1, START + deadline - 1, START + deadline)
        self.trial = Trial(
            mode=scope.mode,
            deadline=deadline,
            invocation_timeout=timeout,
            open_jobs=scope.slots,
            retention=RETENTION_IN_SECONDS,
            machines=1,
        )
        self._replay, self._steps = Replay(), dict[State, list[Step]]()
        self.services = Services(scope.mode)
        self.functions = Functions(scope.mode, self.services, self._replay, times, START + _LATEST_START)

    def run(self) -> Found:
        """Search until an invariant is broken, or all states or `most_states` are found."""
        started, found = time.process_time(), Found()
        with _without_collector(), self._runtime():
            start = self._start()
            reached_by: dict[State, tuple[State, str] | None] = {start: None}
            queue = [start]
            for state in queue:
                if len(queue) >= self.scope.most_states:
                    found.is_complete = False
                    break
                for name, outcome in self.steps(state):
                    found.steps += 1
                    if isinstance(outcome, BrokenError):
                        found.broken = outcome
                        found.history = [*_history(reached_by, state), name]
                        break
                    if outcome not in reached_by:
                        reached_by[outcome] = state, name
                        queue.append(outcome)
                if not found.broken:
                    found.broken = self._broken_at_rest(state)
                    found.history = _history(reached_by, state) if found.broken else []
                if found.broken:
                    break
        found.states, found.seconds = len(reached_by), time.process_time() - started
        return found

    def _start(self) -> State:
        """Return the first states. Machines have been set up, and one waits for work."""
        if self.scope.mode != "ec2":
            return State()
        parts.readiness()._has_begun = True  # no step of its own: whether it asks depends on the process
        times = {name: {"N": f"{START:.3f}"} for name in ("seen_at", "ready_at", "busy_at")}
        row = machine_key(0) | {"instance_id": {"S": INSTANCE}, "state": {"S": "idle"}} | times
        return self.services.put(State(machine=RUNNING_MACHINE), "machine#0", row)

    def steps(self, state: State) -> list[Step]:
        """Yield the possible steps, each with the state after it or the invariant that it breaks."""
        if state not in self._steps:
            self._steps[state] = list(self._steps_from(state))
        return self._steps[state]

    def _steps_from(self, state: State) -> Iterator[Step]:
        for name, outcomes in self._possible(state):
            try:
                for how, outcome in outcomes:
                    self._check(outcome)
                    yield name + how, outcome
            except BrokenError as broken:
                yield name, broken

    def _broken_at_rest(self, state: State) -> BrokenError | None:
        try:
            return broken_at_rest(state, self.steps, self.services, transitions.MAX_ATTEMPTS)
        except BrokenError as broken:
            return broken

    def _possible(self, state: State) -> Iterator[tuple[str, Iterator[tuple[str, State]]]]:
        for task in dict.fromkeys(state.tasks):
            yield self.functions.name_of(task), self.functions.outcomes(state.minus(task), task)
            yield (
                f"{self.functions.name_of(task)}: dies before",
                iter([("", self.functions.died(state.minus(task), task))]),
            )
        for name, function, event, holds, before in self._starts(state):
            yield name, self.functions.start(before, function, event, holds=holds, job=state.submissions + 1)
        for name, after in self._outside(state):
            yield name, iter([("", after)])

    def _starts(self, state: State) -> Iterator[tuple[str, str, Any, str, State]]:
        """Yield functions that can start: name of the step, function, event, message held, state before."""
        if len(state.tasks) >= self.scope.at_once:
            return
        running = [self.functions.function_of(task) for task in state.tasks]
        if state.submissions < self.scope.jobs and state.phase == CLAIMS:
            yield "submit", "submit_job", self._submission(), "", state._replace(submissions=state.submissions + 1)
        for job in self.services.jobs(state):
            row = self.services.row(state, job)
            assert row
            if self.scope.jobs == 1 or row.is_open:
                yield "cancel", "cancel_job", _event("DELETE", "/jobs/{id}", job=job), "", state
            works = self.scope.mode != "ec2" and running.count("run_job") < self.scope.workers
            if row.is_open and job in state.queued and works:
                message = _message({"job": job, "waits": 0})
                yield "worker", "run_job", message, job, state.without_message(job)
                yield "worker, message comes again", "run_job", message, "", state
        due = any((row := self.services.row(state, job)) and row.has("due_at") for job in self.services.jobs(state))
        if due and running.count("sweep_jobs") < self.scope.sweepers:
            yield "sweep", "sweep_jobs", {}, "", state
        if self.scope.mode == "ec2" and state.submissions:
            if "tend_machines" not in running:
                yield "tend", "tend_machines", {}, "", state
            if state.machine == RUNNING_MACHINE and TURN not in running:
                event = {"row": self.services.item(state, "machine#0"), "boots": state.boots}
                yield "turn", TURN, event, "", state._replace(boots=False)
        for (job, number), fate in state.fates if self.scope.mode == "async" else ():
            if fate in (OUTPUT, REFUSED, FAILED) and "record_result" not in running:
                yield f"record {number}", "record_result", _message(_notification(job, number, fate)), "", state

    def _outside(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of the model, of the queue and of time."""
        for attempt, fate in state.fates:
            if fate == RUNNING:
                for end in (OUTPUT, REFUSED, FAILED):
                    yield f"model: {attempt[1]} {end}", state.with_fate(attempt, end)
        for job in state.queued:
            yield "message lost", state.without_message(job)
        for job in self.services.jobs(state):
            row = self.services.row(state, job)
            held = any(job in task.before for task in state.tasks)
            if row and row.number("lease_until") and not held:
                yield "lease over", self.services.rewrite(state, job, lease_until={"N": "0.000"})
        if self.scope.mode == "ec2":
            yield from self._outside_of_machines(state)
            return
        if state.submissions and state.phase == CLAIMS:
            yield "too late for another attempt", state._replace(phase=TOO_LATE)
        elif state.phase == TOO_LATE and not state.tasks:
            fates = tuple((attempt, OVER if fate == RUNNING else fate) for attempt, fate in state.fates)
            yield "all attempts over", state._replace(phase=LAST_MOMENTS, fates=fates)
        elif state.phase == LAST_MOMENTS:
            yield "deadline", state._replace(phase=OVERDUE)

    def _outside_of_machines(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of EC2 and of time: beats grow old while a machine is down, and pauses end."""
        row = self.services.item(state, "machine#0") or {}
        if state.machine == RUNNING_MACHINE:
            yield "stopped from outside", self.functions.down(state)
        if state.machine == STOPPING_MACHINE:
            yield "machine down", state._replace(machine=STOPPED)
        long_ago = {"N": f"{START - SILENT_IN_SECONDS:.3f}"}
        if state.machine != RUNNING_MACHINE and row["seen_at"] != long_ago:
            yield "silence", self.services.put(state, "machine#0", row | {"seen_at": long_ago})
        asked = {name: long_ago for name in ("tried_at", "asked_at") if name in row}
        if row | asked != row:
            yield "pause over", self.services.put(state, "machine#0", row | asked)

    def _check(self, state: State) -> None:
        rows = [row for job in self.services.jobs(state) if (row := self.services.row(state, job))]
        counted = sum(
            int(item["open"]["N"])
            for pk, _ in state.items
            if pk.startswith("owner#") and (item := self.services.item(state, pk))
        )
        held = sum(row.holds_slot for row in rows)
        if counted != held:
            raise BrokenError("i8_slots_equal_unfinished_work", f"{counted} slots counted, {held} jobs hold one")
        if held > self.scope.slots:
            raise BrokenError("i8_no_limit_is_passed", f"{held} unfinished jobs of {self.scope.slots}")
        if self.scope.same_key and len(rows) > 1:
            raise BrokenError("i7_a_key_makes_one_job", f"{len(rows)} jobs")

    def _submission(self) -> Any:
        return _event("POST", "/jobs", headers={"Idempotency-Key": "key"} if self.scope.same_key else {})

    @contextmanager
    def _runtime(self) -> Iterator[None]:
        deployment = Deployment(self.trial, Scheduler(START), Random(1), Faults(Rates(), Random(1)))
        replay = self._replay
        with deployment.as_runtime():
            # An account changes with the job's row, in one transaction: it adds states, but no order of calls.
            del os.environ["USAGE_TABLE"]
            runtime.use(
                runtime.Runtime(
                    replay.client,
                    replay.now,
                    sleep=lambda seconds: None,
                    random=Chance(replay),
                    answer_before=lambda moment: None,
                    side_by_side=_one_after_the_other,
                )
            )
            clear_caches()
            yield


def _one_after_the_other(work: Callable[[Any], None], items: Iterator[Any], most: int) -> None:
    for item in items:
        work(item)


def _event(method: str, resource: str, *, job: str | None = None, headers: dict[str, str] | None = None) -> Any:
    body = body_for("prompt") if method == "POST" else b""
    return http_event(method, resource, "AROAOWNER1:session", "request", job=job, headers=headers, body=body)


def _message(content: Any) -> dict[str, Any]:
    record = {"messageId": "1", "receiptHandle": "1", "attributes": {"ApproximateReceiveCount": "1"}}
    return {"Records": [record | {"body": json.dumps(content)}]}


def _notification(job: str, number: int, fate: str) -> dict[str, Any]:
    notification = {"inferenceId": f"{job}.{number}", "invocationStatus": "Completed" if fate == OUTPUT else "Failed"}
    status = 422 if fate == REFUSED else 500
    return notification | ({} if fate == OUTPUT else {"failureReason": f"Received server error ({status}) from model."})


@contextmanager
def _without_collector() -> Iterator[None]:
    """Run without the garbage collector. States make no cycles and stay to the end; it would take half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _history(reached_by: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    names = []
    while before := reached_by[state]:
        state, name = before
        names.append(name)
    return names[::-1]

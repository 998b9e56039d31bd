"""Runs one trial: a deployment with callers, sweeps, outages and messages about unknown jobs."""

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from math import inf
from random import Random
from typing import TypeVar

from inference_api.keys.usage_row import LONGEST_CALL_IN_SECONDS
from simulation.aws.ec2 import STOPPED, TERMINATED
from simulation.aws.realtime_endpoint import MAX_SECONDS
from simulation.callers.batch_callers import BatchCallers
from simulation.callers.direct_callers import DirectCallers
from simulation.callers.history import History
from simulation.callers.job_callers import Callers
from simulation.callers.trial import Trial
from simulation.runtime.faults import Faults
from simulation.runtime.functions import Invocation, Log
from simulation.runtime.gateway import Gateway
from simulation.runtime.scheduler import Scheduler
from simulation.world.deployment import Deployment
from simulation.world.remains import Remains

T = TypeVar("T")

START = 1_795_219_200.0  # 2026-11-21, midnight
SWEEP_EVERY = 60.0
_SET_UP_IN_SECONDS = 400
_DAY_IN_SECONDS = 86_400
# After the last deadline: half of it with faults, so that late ends meet faults, too.
_GRACE = 40 * SWEEP_EVERY


class World:
    """A deployment and its callers. The invariants read its attributes after run()."""

    def __init__(self, trial: Trial, start: float = START) -> None:
        self.trial = trial
        self.random = Random(trial.seed)
        self.scheduler = Scheduler(start)
        self.faults = Faults(trial.rates, Random(self.random.random()), trial.faulty_functions)
        self.deployment = Deployment(trial, self.scheduler, self.random, self.faults)
        self.history, self.log = History(), Log()
        gateway = Gateway(self.scheduler, self.random, self.deployment.functions, self.faults)
        chance = Random(self.random.random())
        self.callers = Callers(self.scheduler, chance, gateway, self.history, trial.habits, trial.owners)
        self.batch_callers = BatchCallers(self.scheduler, chance, gateway, self.deployment.bucket)
        self.direct_callers = DirectCallers(self.scheduler, Random(self.random.random()), gateway)
        self.last_calls_at = START
        self.sweeps: list[Invocation] = []
        self.tends: list[Invocation] = []
        self.unknown_ids: list[str] = []
        self._quiet = False
        self.deployment.table.observers.append(self.history.observe)
        self.deployment.usage.observers.append(self.history.observe_accounts)
        self.deployment.functions.observers.append(self._note_sweep)
        self.faults.observers.append(self._note_disturbance)

    def run(self) -> None:
        """Run the trial to its end, by default past the retention of its jobs."""
        trial = self.trial
        with self.deployment.as_runtime(), redirect_stdout(self.log):
            if trial.mode == "ec2":
                self._set_up_machines()
            self.callers.submit_all(trial.jobs, trial.arrivals)
            if trial.batches:
                self.batch_callers.begin(trial.batches, trial.arrivals, trial.batch_lines)
                self.scheduler.spawn(self._advance_each_minute)
            self.direct_callers.begin(trial.calls, trial.arrivals)
            self._plan_outages()
            self._send_unknown_messages()
            if trial.sweeps:
                self.scheduler.spawn(self._sweep_each_minute)
            if trial.redriven_every:
                self.scheduler.spawn(self._redrive_now_and_then)
            self._run_until_quiet()
            if trial.calls:
                self._call_past_every_function()
            if trial.after_retention:
                self._run_past_retention()

    def resume(self, remains: Remains, seconds: float) -> None:
        """Go on with the state that another deployment has left, without its functions."""
        with self.deployment.as_runtime(), redirect_stdout(self.log):
            remains.put_into(self.deployment)
            if self.trial.mode == "ec2":
                self._set_up_machines()  # an update that changes the worker replaces its machines
            self.scheduler.spawn(self._sweep_each_minute)
            self.scheduler.spawn(self._advance_each_minute)
            self.scheduler.run(seconds)
            self._quiet = True

    def ask(self, work: Callable[[], T]) -> T:
        """Run the requests of a caller, and return what they return."""
        answers: list[T] = []
        with self.deployment.as_runtime(), redirect_stdout(self.log):
            self.scheduler.spawn(lambda: answers.append(work()))
            self.scheduler.run(SWEEP_EVERY)
        return answers[0]

    @property
    def unknown_messages_delivered(self) -> int:
        queue = self.deployment.messages
        missing = [
            job for job in self.unknown_ids if any(job in body for body in queue.lost) or queue.keeps_unread(job)
        ]
        return len(self.unknown_ids) - len(missing)

    def _set_up_machines(self) -> None:
        """Set up machines as a deploy does, without faults."""
        self.faults.on = False
        self.deployment.machines.launch()
        self.scheduler.run(_SET_UP_IN_SECONDS)
        self.faults.on = True
        self.scheduler.spawn(self._tend_each_minute)

    def _tend_each_minute(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(SWEEP_EVERY)
            self.tends.append(self.deployment.tend())
            if self.faults.happens("two tenders at once", self.trial.rates.double_sweep):
                self.deployment.tend()

    def _advance_each_minute(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(SWEEP_EVERY)
            self.deployment.advance_batches()
            if self.faults.happens("two drivers at once", self.trial.rates.double_sweep):
                self.deployment.advance_batches()

    def _sweep_each_minute(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(SWEEP_EVERY)
            self.deployment.sweep()
            if self.faults.happens("two sweepers at once", self.trial.rates.double_sweep):
                self.deployment.sweep()

    def _redrive_now_and_then(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(self.trial.redriven_every)
            for _ in range(self.deployment.messages.redrive(self.deployment.dead_letters)):
                self.faults.record("dead letter redriven")

    def _plan_outages(self) -> None:
        for _ in range(self.trial.outages):
            self.scheduler.call_later(self.random.uniform(0, 2 * self.trial.arrivals), self._begin_outage)

    def _begin_outage(self) -> None:
        self.faults.record("table throttled for seconds")
        lasts = self.random.uniform(0.5, 1) * self.trial.outage
        self.deployment.database.unavailable_until = self.scheduler.now + lasts

    def _send_unknown_messages(self) -> None:
        """Send messages about jobs that do not exist, and malformed messages."""
        for number in range(self.trial.unknown_messages):
            job = f"{self.random.getrandbits(128):032x}"
            self.unknown_ids.append(job)
            notification = {"inferenceId": f"{job}.1", "invocationStatus": "Completed", "responseParameters": {}}
            messages = (
                json.dumps({"job": job, "waits": 0}),
                json.dumps(notification),
                json.dumps([job]),
                f"{job}, not JSON",
                json.dumps({"job": job, "waits": inf}),
                json.dumps({"job": job * 100, "waits": 0}),
                json.dumps({"job": f"\ud800{job}", "waits": 0}),
                json.dumps(notification | {"responseParameters": {"outputLocation": [job]}}),
                "[" * 100_000 + job,
            )
            message = messages[number % len(messages)]
            send = partial(self.deployment.messages.send, message)
            self.scheduler.call_later(self.random.uniform(0, self.trial.arrivals), send)

    def _run_until_quiet(self) -> None:
        """Run until no work is left. Faults end after the last deadline."""
        faults_end = START + self.trial.faults_for
        last_deadline = START + self.trial.arrivals + self.trial.deadline
        while self.scheduler.now < last_deadline + _GRACE and not self._quiet:
            self.scheduler.run(SWEEP_EVERY)
            last_deadline = max(last_deadline, self.history.latest_deadline)
            self.faults.on = self.scheduler.now < min(last_deadline + _GRACE / 2, faults_end)
            self._quiet = self._is_quiet()
        self._quiet = True

    def _is_quiet(self) -> bool:
        deployment = self.deployment
        if self.callers.unfinished or self.batch_callers.unfinished or self.direct_callers.unfinished:
            return False
        if self.trial.mode == "ec2":
            # A message of a job that has ended may lie in the queue while the machines sleep.
            if any(instance.state not in (STOPPED, TERMINATED) for instance in deployment.ec2.instances.values()):
                return False
        elif deployment.functions.running or deployment.messages.size:
            return False
        return not any("due_at" in item for item in deployment.table.items.values())

    def _call_past_every_function(self) -> None:
        """Let each owner call once more when every earlier function must have ended."""
        self.faults.on = False
        self.scheduler.run(LONGEST_CALL_IN_SECONDS)
        self.last_calls_at = self.scheduler.now
        self.direct_callers.call_once_more()
        self.scheduler.run(2 * MAX_SECONDS)

    def _run_past_retention(self) -> None:
        """Let callers read rows that have expired but are not deleted yet, then deleted rows."""
        self.faults.on = False
        self.scheduler.run(self.trial.retention / 2)
        self.callers.look_again(0.1)
        self.scheduler.run(self.trial.deadline + self.trial.retention + 120)
        self.callers.look_again(0.2)
        self.scheduler.run(4 * _DAY_IN_SECONDS)

    def _note_sweep(self, invocation: Invocation) -> None:
        if invocation.function.name == "sweep_jobs":
            self.sweeps.append(invocation)

    def _note_disturbance(self) -> None:
        self.deployment.functions.current().disturbed = True

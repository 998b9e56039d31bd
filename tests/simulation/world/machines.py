"""The machines behind EC2's instances: boot, systemd, the model's server, and the shipped worker in a process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, cast

import greenlet

from inference_api.http.answer import Answer
from inference_api.jobs.service import job_service
from inference_api.jobs.state.job import Job
from inference_api.machines.parts import machine_rows
from inference_api.shared import errors, runtime
from inference_api.shared.settings import job_settings, machine_settings
from inference_api.shared.tracing import UNTRACED, Segment
from inference_api.worker.resident_worker import LONG_POLL, ResidentWorker
from simulation.aws.ec2 import RUNNING, Ec2, Instance
from simulation.runtime.faults import Faults
from simulation.runtime.functions import Functions, Invocation
from simulation.runtime.model import Answer as ModelAnswer
from simulation.runtime.model import Model, Run
from simulation.runtime.scheduler import Scheduler, Signal, Task

WORKER = "resident_worker"
_BOOT_IN_SECONDS = 60
_RESTART_IN_SECONDS = 5
_STOP_TIMEOUT_IN_SECONDS = 30
_REPAIR_IN_SECONDS = 600
FOREVER_IN_SECONDS = 1e9


class Server:
    """The model's server on a machine, with the errors of the shipped ModelServer."""

    def __init__(self, machine: "_Machine", timeout: float) -> None:
        self._machine, self._timeout, self._interrupted = machine, timeout, False
        self._ends: dict[Signal, None] = {}  # a dictionary keeps the order of the calls; a set does not

    def is_ready(self) -> bool:
        return self._machine.model.is_ready

    def invoke(self, body: bytes, segment: Segment = UNTRACED) -> Answer:
        model, machines = self._machine.model, self._machine.machines
        if self._interrupted:
            raise errors.endpoint_not_ready("interrupted", ran=False)
        if not model.is_ready:
            raise errors.endpoint_unreachable("ConnectionRefusedError", ran=False)
        answers, end = list[ModelAnswer](), Signal(machines.scheduler)

        def on_end(answer: ModelAnswer) -> None:
            answers.append(answer)
            end.set()

        run = model.start(bytes(body), *machines.claims[machines.scheduler.current()], on_end)
        self._ends[end] = None
        machines.disturb(self._machine, run)
        try:
            in_time = end.wait(self._timeout)
        finally:
            model.stop(run)
            del self._ends[end]
        if answers and answers[0].status == 200:
            return Answer(answers[0].body, "application/json")
        if self._interrupted:
            run.given_back = True
            raise errors.endpoint_not_ready("interrupted", ran=False)
        if not in_time:
            raise errors.model_timeout()
        if not answers or not answers[0].status:
            raise errors.container_exited("RemoteDisconnected")
        raise errors.container_error(answers[0].status, answers[0].body.decode())

    def interrupt(self) -> None:
        self._interrupted = True
        for end in [*self._ends]:
            end.set()


@dataclass
class _Worker(ResidentWorker):
    """The process of a worker. claims: job and attempt that each thread works on."""

    claims: dict[Task, tuple[str, int]] = field(kw_only=True)

    @contextmanager
    def _holding(self, job: Job) -> Iterator[None]:
        self.claims[cast(Task, greenlet.getcurrent())] = job.id, job.attempts
        with super()._holding(job):
            yield


@dataclass
class _Machine:
    """What runs on an instance since its last boot. hangs: its worker neither beats nor ends."""

    instance: Instance
    model: Model
    machines: "Machines"
    worker: ResidentWorker | None = None
    process: Invocation | None = None
    is_up: bool = True
    hangs: bool = False


@dataclass
class Machines:
    """The machines. boots: one for each boot of an instance. left_early: workers that ended in the middle of a job."""

    ec2: Ec2
    functions: Functions
    random: Random
    faults: Faults
    new_model: Callable[[], Model]
    timeout: float
    count: int
    up: dict[str, _Machine] = field(default_factory=dict)
    boots: list["_Machine"] = field(default_factory=list)
    left_early: list[str] = field(default_factory=list)
    claims: dict[Task, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ec2.on_running, self.ec2.on_stop = self._boot, self._go_down
        self.functions.add(WORKER, self._work, FOREVER_IN_SECONDS)

    @property
    def scheduler(self) -> Scheduler:
        return self.ec2.scheduler

    @property
    def runs(self) -> list[Run]:
        return [run for machine in self.boots for run in machine.model.runs]

    def launch(self) -> None:
        """Launch instances as CloudFormation does. The API takes jobs once the first of them was ready."""
        for number in range(self.count):
            self.ec2.launch(number)

    def disturb(self, machine: _Machine, run: Run) -> None:
        """Let something happen to the machine while the model works on a job."""
        rates = self.faults.rates
        ways: list[tuple[str, float, Callable[[], None]]] = [
            ("worker killed", rates.worker_killed, lambda: self._kill(machine)),
            ("worker hangs", rates.worker_hangs, lambda: self._hang(machine)),
            ("machine stopped in a job", rates.machine_stopped, lambda: self.ec2.stop(machine.instance)),
            ("machine vanished in a job", rates.machine_vanishes, lambda: self._vanish(machine)),
            ("machine replaced in a job", rates.machine_replaced, lambda: self._replace(machine)),
        ]
        for name, rate, do in ways:
            if self.faults.happens(name, rate):
                self.scheduler.call_later(self.random.uniform(0, 5), do)
                return

    def _boot(self, instance: Instance) -> None:
        machine = self.up[instance.id] = _Machine(instance, self.new_model(), self)
        self.boots.append(machine)
        if self.faults.happens("boot hangs", self.faults.rates.boot_hangs):
            return
        seconds = self.random.uniform(0.5, 1.5) * _BOOT_IN_SECONDS
        machine.model.ready_at = self.scheduler.now + 2 * seconds
        self.scheduler.call_later(seconds, lambda: self._start_worker(machine))

    def _start_worker(self, machine: _Machine) -> None:
        if not machine.is_up or machine.hangs or machine.instance.state != RUNNING:
            return
        machine.process = self.functions.by_name[WORKER].start(machine)
        machine.process.finished.then(partial(self._after_worker, machine, machine.process))

    def _work(self, machine: _Machine, context: Any) -> int:
        settings, current = machine_settings(), runtime.runtime()
        machine.worker = _Worker(
            number=machine.instance.number,
            instance_id=machine.instance.id,
            service=job_service(),
            rows=machine_rows(),
            queue=current.client("sqs", LONG_POLL),
            queue_url=job_settings().queue_url,
            server=Server(machine, self.timeout),
            runtime=current,
            alongside=self.functions.alongside,
            idle_in_seconds=settings.idle_in_seconds,
            batch=settings.batch,
            claims=self.claims,
        )
        return machine.worker.run()

    def _after_worker(self, machine: _Machine, process: Invocation) -> None:
        """Do what systemd does: status 0 powers the machine off, a failure restarts the worker."""
        machine.worker = None
        if not machine.is_up or machine.hangs:
            return
        if process.outcome == "returned" and process.result == 0:
            self.left_early += [run.job for run, _ in machine.model.running.values()]
            self.ec2.stop(machine.instance)
        else:
            self.scheduler.call_later(_RESTART_IN_SECONDS, lambda: self._start_worker(machine))

    def _go_down(self, instance: Instance) -> None:
        """Stop the worker with SIGTERM, and give it some time. On a machine that has vanished it has none."""
        machine = self.up.pop(instance.id, None)
        if machine is None:
            return
        machine.is_up = False
        if instance.state != "stopping":
            self._end(machine)
        elif machine.worker:
            machine.worker.interrupt()
            self.scheduler.call_later(_STOP_TIMEOUT_IN_SECONDS, lambda: self._end(machine))

    def _end(self, machine: _Machine) -> None:
        machine.model.ready_at = float("inf")
        for run, _ in list(machine.model.running.values()):
            machine.model.stop(run)
        if machine.process and machine.process.task:
            machine.process.task.kill()

    def _kill(self, machine: _Machine) -> None:
        if machine.is_up and machine.process and machine.process.task:
            machine.process.task.kill()

    def _hang(self, machine: _Machine) -> None:
        if machine.is_up:
            machine.hangs = True
            self._kill(machine)

    def _replace(self, machine: _Machine) -> None:
        """Replace an instance as an update does: launch another one, and terminate the old one after the set-up."""
        if machine.is_up:
            self.ec2.launch(machine.instance.number)
            self.scheduler.call_later(_REPAIR_IN_SECONDS, lambda: self.ec2.vanish(machine.instance))

    def _vanish(self, machine: _Machine) -> None:
        """Let the instance vanish, and an operator deploy another one."""
        if machine.is_up:
            self.ec2.vanish(machine.instance)
            self.scheduler.call_later(_REPAIR_IN_SECONDS, lambda: self.ec2.launch(machine.instance.number))

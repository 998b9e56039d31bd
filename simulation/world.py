"""One deployment with its callers, in memory: the shipped handlers wired up as the templates wire them."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from random import Random
from typing import Any

from botocore.config import Config
from inference_api import runtime as surroundings
from inference_api.handlers import (
    cancel_job,
    generate,
    list_jobs,
    poll_job,
    record_result,
    run_job,
    submit_job,
    sweep_jobs,
)

from simulation.aws.async_endpoint import AsyncEndpoint, Request
from simulation.aws.client import Client
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.events import EventBus
from simulation.aws.realtime_endpoint import RealtimeEndpoint
from simulation.aws.s3 import Bucket
from simulation.aws.sqs import Queue
from simulation.aws.table import Table
from simulation.aws.table_index import TableIndex
from simulation.aws.transactions import Transactions
from simulation.callers import Callers
from simulation.event_source import EventSource
from simulation.faults import Faults
from simulation.functions import Functions, Handler, Invocation, Log
from simulation.gateway import Gateway
from simulation.history import History
from simulation.model import Model
from simulation.scheduler import Scheduler
from simulation.trial import Trial

# As the templates have it; a test compares them.
TIMEOUTS = {
    "submit_job": 28,
    "poll_job": 28,
    "list_jobs": 10,
    "cancel_job": 10,
    "generate": 28,
    "sweep_jobs": 60,
    "record_result": 30,
    "run_job": 90,
}
VISIBILITY = 6  # times the function's timeout
MAX_RECEIVES = 10
RECORD_BATCH = 10
# The template sets no bound; this is how far Lambda gets in a minute or two.
MOST_RECORDERS = 10

HANDLERS: dict[str, Handler] = {
    "submit_job": submit_job.handler,
    "poll_job": poll_job.handler,
    "list_jobs": list_jobs.handler,
    "cancel_job": cancel_job.handler,
    "generate": generate.handler,
    "sweep_jobs": sweep_jobs.handler,
    "record_result": record_result.handler,
    "run_job": run_job.handler,
}

START = 1_795_219_200.0  # 2026-11-21, midnight
SWEEP_EVERY = 60.0


class World:
    """Everything of one trial; run() lets it happen."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.random = Random(trial.seed)
        self.scheduler = Scheduler(START)
        self.faults = Faults(trial.rates, Random(self.random.random()), trial.faulty_functions)
        self.history = History()
        self.log = Log()
        indexes = [TableIndex("by_owner", "owner", "listed_at"), TableIndex("by_due", "due_shard", "due_at")]
        self.table = Table("jobs", indexes, self.scheduler, Random(self.random.random()))
        self.table.observers.append(self.history.observe)
        self.database = DynamoDb(self.table, Transactions(self.scheduler, self.random), trial.page_bytes)
        self.bucket = Bucket("job-files", self.scheduler, Random(self.random.random()))
        self.bus = EventBus(self.scheduler, self.faults)
        self.functions = Functions(self.scheduler, self.random, self.faults, trial.clock_skew)
        self.sweeps: list[Invocation] = []
        self.strange_ids: list[str] = []
        self._quiet = False
        self.functions.observers.append(self._note_sweep)
        self.faults.observers.append(self._note_disturbance)
        self.model = Model(
            self.scheduler, Random(self.random.random()), self.faults, median=trial.median, longest=trial.longest
        )
        self.dead_letters = self._queue("dead-letters", visibility_timeout=30)
        self.gateway = Gateway(self.scheduler, self.random, self.functions, self.faults)
        self.callers = Callers(
            self.scheduler, Random(self.random.random()), self.gateway, self.history, trial.habits, trial.owners
        )
        self._add_functions()

    def run(self) -> None:
        """Callers come and go, sweeps go round, and at last what is kept for a while is deleted."""
        trial = self.trial
        with self._as_surroundings(), redirect_stdout(self.log):
            self.callers.submit_all(trial.jobs, trial.arrivals)
            self._plan_outages()
            self._send_strange_messages()
            if trial.sweeps:
                self.scheduler.spawn(self._sweep_for_ever)
            if trial.redriven_every:
                self.scheduler.spawn(self._redrive_for_ever)
            self._run_until_quiet()
            if trial.after_retention:
                self._run_past_retention()

    def sweep(self) -> Invocation:
        """As EventBridge's rule does each minute."""
        return self.functions.by_name["sweep_jobs"].start({"source": "aws.events", "detail-type": "Scheduled Event"})

    @property
    def requests(self) -> list[Request]:
        """What an asynchronous endpoint was asked to do."""
        return self.async_endpoint.requests if self.trial.mode == "async" else []

    @property
    def strange_messages_delivered(self) -> int:
        return sum(not any(job in body for body in self.messages.lost) for job in self.strange_ids)

    def _add_functions(self) -> None:
        trial = self.trial
        for name, handler in HANDLERS.items():
            self.functions.add(name, handler, TIMEOUTS[name])
        consumer = self.functions.by_name["record_result" if trial.mode == "async" else "run_job"]
        self.messages = self._queue(
            "results" if trial.mode == "async" else "jobs", VISIBILITY * consumer.timeout, MAX_RECEIVES
        )
        if trial.mode == "async":
            self.event_source = EventSource(self.messages, consumer, RECORD_BATCH, MOST_RECORDERS, self.scheduler)
            self.async_endpoint = AsyncEndpoint(
                "model",
                self.scheduler,
                self.random,
                self.faults,
                self.model,
                self.bucket,
                self.messages.send,
                capacity=trial.capacity,
            )
        else:
            self.event_source = EventSource(self.messages, consumer, 1, trial.capacity, self.scheduler)
            self.realtime_endpoint = RealtimeEndpoint(
                "model", self.scheduler, self.random, self.faults, self.model, trial.capacity, self._whose_call
            )

    def _queue(self, name: str, visibility_timeout: float, max_receives: int | None = None) -> Queue:
        dead_letters = self.dead_letters if max_receives else None
        chance = Random(self.random.random())
        return Queue(name, self.scheduler, chance, self.faults, visibility_timeout, max_receives, dead_letters)

    def _client(self, service: str, config: Config) -> Any:
        services: dict[str, Any] = {
            "dynamodb": self.database,
            "s3": self.bucket,
            "events": self.bus,
            "sqs": self.messages,
            "sagemaker-runtime": self.async_endpoint if self.trial.mode == "async" else self.realtime_endpoint,
        }
        return Client(service, services[service], config, self.functions, self.random, self.faults)

    def _whose_call(self) -> tuple[str, int]:
        """The job and attempt that the calling worker has claimed, by its message and the table."""
        job = json.loads(self.functions.current().event["Records"][0]["body"])["job"]
        row = self.table.items.get(f"job#{job}", {})
        return job, int(row.get("attempts", {"N": "0"})["N"])

    def _environment(self) -> dict[str, str]:
        trial = self.trial
        jobs = {
            "retention_in_seconds": trial.retention,
            "deadline_in_seconds": trial.deadline,
            "invocation_timeout_in_seconds": trial.invocation_timeout if trial.mode == "async" else 60,
            "max_waiting": trial.max_waiting,
            "open_jobs": trial.open_jobs,
            "answer_tokens_per_day": None,
        }
        return {
            "ENDPOINT_NAME": "model",
            "ENDPOINT_URL": "https://simulated",
            "MODEL_ID": "simulated",
            "ENGINE": "lmi-vllm",
            "ENGINE_VERSION": "",
            "HOSTING_MODE": trial.mode,
            "REQUEST_SCHEMA": json.dumps({"bodies": ["inputs"], "parameters": {}}),
            "MAX_BODY_BYTES": "131072",
            "DEPLOYMENT_NAME": "simulated",
            "JOB_TABLE": self.table.name,
            "JOB_BUCKET": self.bucket.name,
            "JOB_QUEUE_URL": "" if trial.mode == "async" else self.messages.url,
            "JOB_SETTINGS": json.dumps(jobs),
        }

    @contextmanager
    def _as_surroundings(self) -> Iterator[None]:
        """The handlers' clients, clock, chance and settings are this world's for a while."""
        before, environment = surroundings.runtime(), dict(os.environ)
        os.environ.update(self._environment())
        surroundings.use(
            surroundings.Runtime(
                client=self._client,
                now=self.functions.now,
                sleep=self.scheduler.sleep,
                chance=Random(self.random.random()),
            )
        )
        forget_everything_cached()
        try:
            yield
        finally:
            surroundings.use(before)
            os.environ.clear()
            os.environ.update(environment)
            forget_everything_cached()

    def _sweep_for_ever(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(SWEEP_EVERY)
            self.sweep()
            if self.faults.happens("two sweepers at once", self.trial.rates.double_sweep):
                self.sweep()

    def _redrive_for_ever(self) -> None:
        while not self._quiet:
            self.scheduler.sleep(self.trial.redriven_every)
            for _ in range(self.messages.redrive(self.dead_letters)):
                self.faults.record("dead letter redriven")

    def _plan_outages(self) -> None:
        for _ in range(self.trial.outages):
            self.scheduler.call_later(self.random.uniform(0, 2 * self.trial.arrivals), self._begin_outage)

    def _begin_outage(self) -> None:
        self.faults.record("table throttled for seconds")
        self.database.unavailable_until = self.scheduler.now + self.random.uniform(0.5, 1) * self.trial.outage

    def _send_strange_messages(self) -> None:
        """About jobs that do not exist, and about nothing at all."""
        for number in range(self.trial.strange_messages):
            job = f"{self.random.getrandbits(128):032x}"
            self.strange_ids.append(job)
            strange = (
                json.dumps({"job": job, "waits": 0}),
                json.dumps({"inferenceId": f"{job}.1", "invocationStatus": "Completed", "responseParameters": {}}),
                json.dumps([job]),
                f"{job}, not JSON",
            )[number % 4]
            self.scheduler.call_later(
                self.random.uniform(0, self.trial.arrivals),
                lambda strange=strange: self.messages.send(strange) and None,  # type: ignore[misc]
            )

    def _run_until_quiet(self) -> None:
        """Until nothing is left to do; from the last deadline on nothing goes wrong any more."""
        last_deadline = START + self.trial.arrivals + self.trial.deadline + 1200
        faults_end = min(last_deadline, START + self.trial.faults_for)
        while self.scheduler.now < last_deadline + 10 * SWEEP_EVERY:
            self.scheduler.run(SWEEP_EVERY)
            self.faults.on = self.scheduler.now < faults_end
            if self._is_quiet():
                break
        self._quiet = True

    def _is_quiet(self) -> bool:
        if self.callers.unfinished or self.functions.running or self.messages.size:
            return False
        return not any("due_at" in item for item in self.table.items.values())

    def _run_past_retention(self) -> None:
        """Rows that are past their time but not yet deleted must be gone for callers, too."""
        self.faults.on = False
        self.scheduler.run(self.trial.retention / 2)
        self.callers.look_again(0.1)
        self.scheduler.run(self.trial.deadline + self.trial.retention + 120)
        self.callers.look_again(0.2)
        self.scheduler.run(SWEEP_EVERY * 10)
        self.scheduler.run(4 * 86_400)

    def _note_sweep(self, invocation: Invocation) -> None:
        if invocation.function.name == "sweep_jobs":
            self.sweeps.append(invocation)

    def _note_disturbance(self) -> None:
        self.functions.current().disturbed = True


def forget_everything_cached() -> None:
    """As a new execution environment: settings, clients and services are made again."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "inference_api":
            for value in vars(module).values():
                clear: Callable[[], None] | None = getattr(value, "cache_clear", None)
                if clear:
                    clear()

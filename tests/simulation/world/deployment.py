"""One deployment in memory: the shipped handlers on simulated services, wired as in the templates."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from botocore.config import Config

from inference_api.handlers import (
    batches,
    cancel_job,
    files,
    generate,
    generate_by_job,
    list_jobs,
    poll_job,
    record_result,
    run_job,
    submit_job,
)
from inference_api.openai import routes
from inference_api.shared import runtime
from inference_api.tasks import advance_batches, sweep_jobs, tend_machines
from simulation.aws.async_endpoint import AsyncEndpoint, Request
from simulation.aws.client import Client
from simulation.aws.component import Component
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.ec2 import Ec2
from simulation.aws.events import EventBus
from simulation.aws.realtime_endpoint import RealtimeEndpoint
from simulation.aws.s3 import Bucket
from simulation.aws.sqs import Queue
from simulation.aws.table import Table
from simulation.aws.table_index import TableIndex
from simulation.aws.transactions import Transactions
from simulation.callers.trial import Trial
from simulation.runtime.faults import Faults
from simulation.runtime.functions import Functions, Handler, Invocation
from simulation.runtime.gateway import ROUTES
from simulation.runtime.model import Model, Run
from simulation.runtime.scheduler import Scheduler
from simulation.world.event_source import EventSource
from simulation.world.machines import Machines

HANDLERS: dict[str, Handler] = {
    "submit_job": submit_job.handler,
    "poll_job": poll_job.handler,
    "list_jobs": list_jobs.handler,
    "cancel_job": cancel_job.handler,
    "generate": generate.handler,
    "sweep_jobs": sweep_jobs.handler,
    "record_result": record_result.handler,
    "run_job": run_job.handler,
    "tend_machines": tend_machines.handler,
    "files": files.handler,
    "batches": batches.handler,
    "advance_batches": advance_batches.handler,
}
# As in the templates; a test compares them. Timeouts in seconds.
TIMEOUTS = {
    "submit_job": 28,
    "poll_job": 28,
    "list_jobs": 28,
    "cancel_job": 28,
    "generate": 860,
    "sweep_jobs": 60,
    "record_result": 30,
    "run_job": 90,
    "tend_machines": 60,
    "files": 28,
    "batches": 28,
    "advance_batches": 60,
}
INDEXES = {"by_owner": ("owner", "listed_at"), "by_due": ("due_shard", "due_at")}
VISIBILITY_IN_TIMEOUTS = 6
MAX_RECEIVES = 10
BATCHES = {"record_result": 10, "run_job": 1}
MOST_RECORDERS = 4
VISIBILITY_OF_MACHINES = 180
MACHINE_BATCH = 4


class Deployment:
    """A deployment. Its handlers run only within as_runtime()."""

    def __init__(self, trial: Trial, scheduler: Scheduler, random: Random, faults: Faults) -> None:
        self.trial, self.scheduler, self.faults = trial, scheduler, faults
        self._random = random
        indexes = [TableIndex(name, *keys) for name, keys in INDEXES.items()]
        self.table = Table("jobs", indexes, scheduler, self._new_random())
        self.usage = Table("usage", [], scheduler, self._new_random())
        transactions = Transactions(scheduler, self._new_random())
        self.database = DynamoDb(self.table, transactions, trial.page_bytes, others=(self.usage,))
        self.bucket = Bucket("job-files", scheduler, self._new_random())
        self.bus = EventBus(scheduler, faults, on_waiting_batch=self.advance_batches)
        self.functions = Functions(scheduler, self._new_random(), faults, trial.clock_skew)
        handlers = HANDLERS | ({} if trial.mode == "realtime" else {"generate": generate_by_job.handler})
        for name, handler in handlers.items():
            limit = trial.answer_within if name in ROUTES.values() and handler != generate.handler else TIMEOUTS[name]
            self.functions.add(name, handler, limit)
        self.dead_letters = Queue("dead-letters", scheduler, self._new_random(), faults, visibility_timeout=30)
        consumer = "record_result" if trial.mode == "async" else "run_job"
        self.messages = Queue(
            "results" if trial.mode == "async" else "jobs",
            scheduler,
            self._new_random(),
            faults,
            VISIBILITY_OF_MACHINES if trial.mode == "ec2" else VISIBILITY_IN_TIMEOUTS * TIMEOUTS[consumer],
            MAX_RECEIVES,
            self.dead_letters,
        )
        concurrency = {"async": MOST_RECORDERS, "realtime": trial.capacity, "ec2": 0}[trial.mode]
        self.event_source = EventSource(
            self.messages, self.functions.by_name[consumer], BATCHES[consumer], concurrency, scheduler
        )
        self.model = self._new_model()
        self.async_endpoint = AsyncEndpoint(
            "model",
            scheduler,
            self._new_random(),
            faults,
            self.model,
            trial.capacity,
            self.bucket,
            trial.composition,
            self.messages.send,
        )
        self.component = (
            Component("component", scheduler, Random(trial.seed), faults, trial.asleep_after)
            if trial.asleep_after
            else None
        )
        self.realtime_endpoint = RealtimeEndpoint(
            "model",
            scheduler,
            self._new_random(),
            faults,
            self.model,
            trial.capacity,
            self._invoked_attempt,
            self.component,
        )
        # A model of its own, so that every run of the other model belongs to a job.
        self.endpoint_of_calls = RealtimeEndpoint(
            "model",
            scheduler,
            self._new_random(),
            faults,
            self._new_model(),
            trial.capacity,
            lambda: ("", 0),
            self.component,
        )
        chance, timeout = Random(trial.seed), trial.invocation_timeout
        self.ec2 = Ec2(scheduler, chance, faults)
        self.machines = Machines(self.ec2, self.functions, chance, faults, self._new_model, timeout, trial.machines)

    @property
    def requests(self) -> list[Request]:
        """Return the requests to the asynchronous endpoint."""
        return self.async_endpoint.requests

    @property
    def runs(self) -> list[Run]:
        """Return the runs of the model behind the endpoint, or on the machines."""
        return [*self.model.runs, *self.machines.runs]

    def sweep(self) -> Invocation:
        """Start the sweeper, as a rule of the templates does each minute."""
        return self.functions.by_name["sweep_jobs"].start({"source": "aws.events", "detail-type": "Scheduled Event"})

    def tend(self) -> Invocation:
        """Start the tender, as another rule does each minute."""
        return self.functions.by_name["tend_machines"].start({"source": "aws.events"})

    def advance_batches(self, detail: dict[str, Any] | None = None) -> Invocation:
        """Start the driver of batches. It runs each minute, and for the event of a batch that waits."""
        return self.functions.by_name["advance_batches"].start({"source": "slipway", "detail": detail or {}})

    @contextmanager
    def as_runtime(self) -> Iterator[None]:
        """Give the handlers the clients, clock, random source and settings of this deployment."""
        before, environment = runtime.runtime(), dict(os.environ)
        os.environ.update(self._environment())
        functions = self.functions
        random = self._new_random()
        runtime.use(
            runtime.Runtime(
                self._client,
                functions.now,
                self.scheduler.sleep,
                random,
                functions.answer_before,
                functions.side_by_side,
            )
        )
        clear_caches()
        try:
            with patch.object(generate, "opened", _without_beats), patch.object(routes, "opened", _without_beats):
                yield
        finally:
            runtime.use(before)
            os.environ.clear()
            os.environ.update(environment)
            clear_caches()

    def _client(self, service: str, config: Config) -> Any:
        if service == "sagemaker" and not self.component:
            return _ControlPlane()
        endpoint: Any = self.async_endpoint if self.trial.mode == "async" else self.realtime_endpoint
        if self.functions.current().function.handler == generate.handler:
            endpoint = self.endpoint_of_calls
        services: dict[str, Any] = {
            "dynamodb": self.database,
            "s3": self.bucket,
            "events": self.bus,
            "sqs": self.messages,
            "ec2": self.ec2,
            "sagemaker": self.component,
            "sagemaker-runtime": endpoint,
        }
        return Client(service, services[service], config, self.functions, self._new_random(), self.faults)

    def _invoked_attempt(self) -> tuple[str, int]:
        """Return the job in the calling worker's message, and its attempt by the table."""
        job = json.loads(self.functions.current().event["Records"][0]["body"])["job"]
        row = self.table.items.get(f"job#{job}", {})
        return job, int(row.get("attempts", {"N": "0"})["N"])

    def _environment(self) -> dict[str, str]:
        trial = self.trial
        jobs = {
            "retention_in_seconds": trial.retention,
            "deadline_in_seconds": trial.deadline,
            "invocation_timeout_in_seconds": 60 if trial.mode == "realtime" else trial.invocation_timeout,
            "max_waiting": trial.max_waiting,
            "open_jobs": trial.open_jobs,
            "answer_tokens_per_day": trial.answer_tokens_per_day,
        }
        sleep = {"INFERENCE_COMPONENT": self.component.name} if self.component else {}
        if self.component:
            sleep |= {"WAKES_PER_DAY": str(trial.wakes_per_day), "START_ESTIMATE_IN_SECONDS": "240"}
        return sleep | {
            "ENDPOINT_CONFIGURATION": "" if trial.mode == "ec2" else "configuration",
            "ENDPOINT_NAME": self.async_endpoint.name,
            "ENDPOINT_URL": "https://simulated",
            "MODEL_ID": "simulated",
            "ENGINE": "lmi-vllm",
            "ENGINE_VERSION": "",
            "HOSTING_MODE": trial.mode,
            "LONGEST_WAIT_IN_SECONDS": "25",
            "OPENAI_FACTS": json.dumps({"streams": ["inputs"]}),
            "OPENAI_ROUTES": "completions",
            "REQUEST_SCHEMA": json.dumps({"bodies": ["inputs", "prompt"], "parameters": {}, "model_aliases": []}),
            "MAX_BODY_BYTES": "131072",
            "DEPLOYMENT_NAME": "simulated",
            "JOB_TABLE": self.table.name,
            "USAGE_TABLE": self.usage.name,
            "JOB_BUCKET": self.bucket.name,
            "JOB_QUEUE_URL": "" if trial.mode == "async" else self.messages.url,
            "JOB_SETTINGS": json.dumps(jobs),
            "MACHINES": str(trial.machines),
            "IDLE_MINUTES": str(trial.idle / 60),
            "STARTUP_TIMEOUT_IN_SECONDS": str(trial.startup),
            "MAX_BATCH_SIZE": str(MACHINE_BATCH),
        }

    def _new_model(self) -> Model:
        trial = self.trial
        median, longest, share = trial.median, trial.longest, trial.long_answers
        return Model(
            self.scheduler, self._new_random(), self.faults, median=median, longest=longest, long_answers=share
        )

    def _new_random(self) -> Random:
        return Random(self._random.random())


def _without_beats(pieces: Iterator[bytes], *_: Any, **__: Any) -> Iterator[bytes]:
    """Pass the pieces on without beats, which need a thread of Python's own."""
    yield from pieces


class _ControlPlane:
    """SageMaker's API of endpoints. The endpoint is in service. A fault would refuse no job, so there is none."""

    def describe_endpoint(self, **request: Any) -> dict[str, Any]:
        return {"EndpointStatus": "InService"}


def clear_caches() -> None:
    """Let settings, clients and services be made anew, as in a new execution environment."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "inference_api":
            for value in vars(module).values():
                clear: Callable[[], None] | None = getattr(value, "cache_clear", None)
                if clear:
                    clear()

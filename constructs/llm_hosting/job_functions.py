"""The functions of jobs: routes for callers, and the sweeper."""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .batch_functions import BatchFunctions
from .deployment import Alarms, Jobs
from .every_minute import EveryMinute
from .handler_function import HandlerFunction, Handlers
from .hosting_modes import HostingMode
from .inference_api import InferenceApi
from .job_alarms import JobAlarms
from .job_events import grant_announce
from .job_store import JobStore

_SWEEP_TIMEOUT = cdk.Duration.seconds(60)
_SWEEP_MEMORY_IN_MB = 1769  # Lambda gives one vCPU for it, and the threads of a Python process can use no more
_HOLD_MEMORY_IN_MB = 256  # the function mostly waits, and a waiting function costs by its memory

_NEXT_SWEEP = "The next sweep, a minute later, does the work of one that failed; an alarm counts them."


class JobFunctions(Construct):
    """The sweeper, the functions that the hosting mode adds, and their alarms."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Jobs,
        alarms: Alarms,
        handlers: Handlers,
        store: JobStore,
        hosting: HostingMode,
    ) -> None:
        super().__init__(scope, construct_id)
        self._handlers, self._store, self._hosting, self._alarm_settings = handlers, store, hosting, alarms
        alarm_group = JobAlarms(
            self,
            "Alarms",
            settings=alarms,
            jobs=settings,
            oldest_job=hosting.metric_oldest_job(),
            dead_letters=hosting.queue.metric_dead_letters(),
            sweeper=self._add_sweeper(),
        )
        hosting.add_functions(self, handlers, alarm_group)

    def add_routes(self, api: InferenceApi) -> None:
        """POST /jobs, GET /jobs, GET /jobs/{id} and DELETE /jobs/{id}."""
        submit = api.add_function("POST", "/jobs", handler="submit_job")
        self._store.grant_submit(submit)
        self._hosting.grant_dispatch(submit)
        self._hosting.grant_describe(submit)
        poll = api.add_function("GET", "/jobs/{id}", handler="poll_job", memory_in_mb=_HOLD_MEMORY_IN_MB)
        self._store.grant_wait(poll)
        list_ = api.add_function("GET", "/jobs", handler="list_jobs")
        self._store.grant_list(list_)
        cancel = api.add_function("DELETE", "/jobs/{id}", handler="cancel_job")
        self._store.grant_end(cancel)
        grant_announce(cancel)

    def add_batches(self, api: InferenceApi) -> None:
        """OpenAI's Files and Batch API."""
        BatchFunctions(
            self,
            "Batches",
            api=api,
            alarms=self._alarm_settings,
            handlers=self._handlers,
            store=self._store,
            hosting=self._hosting,
        )

    def _add_sweeper(self) -> lambda_.Function:
        sweep = HandlerFunction(
            self,
            "SweepJobs",
            handler="sweep_jobs",
            timeout=_SWEEP_TIMEOUT,
            memory_in_mb=_SWEEP_MEMORY_IN_MB,
            failures=_NEXT_SWEEP,
            handlers=self._handlers,
        ).function
        grant_announce(sweep)
        EveryMinute(self, "EveryMinute", function=sweep)
        self._store.grant_find_due(sweep)
        self._store.grant_collect(sweep)
        self._hosting.grant_tend(sweep)
        return sweep

"""The functions of jobs: what calls each, and what each may do."""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_hosting.async_endpoint import AsyncEndpoint
from llm_hosting.deployment import Deployment
from llm_hosting.every_minute import EveryMinute
from llm_hosting.handler_function import HandlerFunction, Handlers
from llm_hosting.inference_api import InferenceApi
from llm_hosting.job_alarms import JobAlarms
from llm_hosting.job_queue import JobQueue
from llm_hosting.job_store import JobStore
from llm_hosting.realtime_endpoint import RealtimeEndpoint

WORK_TIMEOUT = cdk.Duration.seconds(90)  # a call of the endpoint may take 60 s
RECORD_TIMEOUT = cdk.Duration.seconds(30)
_SWEEP_TIMEOUT = cdk.Duration.seconds(60)
_HOLD_TIMEOUT = cdk.Duration.seconds(28)  # shorter than the gateway's 29 s
_HOLD_MEMORY_IN_MB = 256  # it mostly waits, and memory is what a waiting function costs
_ANSWER_TIMEOUT = cdk.Duration.seconds(10)
_MOST_WORKERS = 1000  # what an event source takes

_BACK_TO_QUEUE = "Called by a queue only: what it could not handle goes back there, and in the end to its dead letters."
_NEXT_SWEEP = "The next sweep, a minute later, does the work of one that failed; an alarm counts them."


class JobFunctions(Construct):
    """A worker feeds a real-time endpoint; an asynchronous one feeds itself, and a recorder hears of its results."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        handlers: Handlers,
        store: JobStore,
        queue: JobQueue,
        endpoint: AsyncEndpoint | RealtimeEndpoint,
    ) -> None:
        super().__init__(scope, construct_id)
        self._deployment, self._handlers = deployment, handlers
        self._store, self._queue, self._endpoint = store, queue, endpoint
        self._bus = events.EventBus.from_event_bus_name(self, "EventBus", "default")
        sweep = self._add_sweeper()
        if isinstance(endpoint, AsyncEndpoint):
            self._add_recorder(endpoint)
            oldest_job = endpoint.metric_oldest_job()
        else:
            self._add_worker(endpoint)
            oldest_job = queue.metric_oldest_message()
        JobAlarms(
            self,
            "Alarms",
            settings=deployment.alarms,
            jobs=deployment.jobs,
            oldest_job=oldest_job,
            queue=queue,
            holds_results=isinstance(endpoint, AsyncEndpoint),
            sweeper=sweep,
        )

    def add_routes(self, api: InferenceApi) -> None:
        """What callers do with jobs."""
        submit = api.add_function("POST", "/jobs", handler="submit_job", timeout=_HOLD_TIMEOUT)
        self._store.grant_submit(submit)
        self._grant_dispatch(submit)
        poll = api.add_function(
            "GET", "/jobs/{id}", handler="poll_job", timeout=_HOLD_TIMEOUT, memory_in_mb=_HOLD_MEMORY_IN_MB
        )
        self._store.grant_wait(poll)
        list_ = api.add_function("GET", "/jobs", handler="list_jobs", timeout=_ANSWER_TIMEOUT)
        self._store.grant_list(list_)
        cancel = api.add_function("DELETE", "/jobs/{id}", handler="cancel_job", timeout=_ANSWER_TIMEOUT)
        self._store.grant_change(cancel)
        self._bus.grant_put_events_to(cancel)

    def _add_sweeper(self) -> lambda_.Function:
        sweep = self._function(handler="sweep_jobs", timeout=_SWEEP_TIMEOUT, failures=_NEXT_SWEEP)
        EveryMinute(self, "EveryMinute", function=sweep)
        self._store.grant_find_due(sweep)
        self._store.grant_collect(sweep)
        self._grant_dispatch(sweep)
        if isinstance(self._endpoint, RealtimeEndpoint):
            self._queue.grant_count(sweep)
        return sweep

    def _add_worker(self, endpoint: RealtimeEndpoint) -> None:
        # A job that the model has no place for goes back into the queue, with a delay and not beyond its deadline.
        work = self._function(handler="run_job", timeout=WORK_TIMEOUT, failures=_BACK_TO_QUEUE, calls_itself=True)
        hosting = self._deployment.hosting
        places = hosting.instance_count.max * hosting.scaling.concurrent_requests_per_instance
        workers = self._deployment.jobs.max_concurrency or min(max(places, 2), _MOST_WORKERS)
        self._queue.feed(work, batch_size=1, max_concurrency=workers)
        self._queue.grant_send(work)
        self._queue.grant_postpone(work)
        self._store.grant_work(work)
        endpoint.grant_invoke(work)

    def _add_recorder(self, endpoint: AsyncEndpoint) -> None:
        for topic in endpoint.topics:
            self._queue.subscribe(topic)
        record = self._function(handler="record_result", timeout=RECORD_TIMEOUT, failures=_BACK_TO_QUEUE)
        self._queue.feed(record, batch_size=10)
        self._store.grant_collect(record)

    def _grant_dispatch(self, function: lambda_.Function) -> None:
        """Let a function hand a job over."""
        if isinstance(self._endpoint, AsyncEndpoint):
            self._endpoint.grant_invoke(function)
        else:
            self._queue.grant_send(function)

    def _function(
        self, *, handler: str, timeout: cdk.Duration, failures: str, calls_itself: bool = False
    ) -> lambda_.Function:
        """A function that ends jobs."""
        function = HandlerFunction(
            self,
            handler.title().replace("_", ""),
            handler=handler,
            timeout=timeout,
            failures=failures,
            handlers=self._handlers,
            calls_itself=calls_itself,
        ).function
        self._bus.grant_put_events_to(function)
        return function

"""`hosting.mode: async`: an endpoint with its own queue, and the recorder, which reads the results it announces."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..alarm_group import AlarmGroup
from ..api.every_minute import EveryMinute
from ..api.handler_function import HandlerFunction, Handlers
from ..dashboard.panel import Panel
from ..endpoint.async_endpoint import AsyncEndpoint
from ..jobs.events import grant_announce
from ..jobs.queue import FAILURES_GO_BACK, JobQueue
from ..jobs.store import JobStore
from ..log_group import LogGroup
from ..resolution import Resolution
from ..sources import Sources
from ..surroundings import Surroundings

_RECORD_TIMEOUT = Duration.seconds(30)
_RESULT_DELAY_IN_SECONDS = 300  # a lost message is no loss: the sweeper ends its job later


class AsyncHosting(Construct):
    """An AsyncEndpoint, a queue behind its topics, and the recorder that reads the queue."""

    generate_handler = "generate_by_job"

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        sources: Sources,
        surroundings: Surroundings,
        store: JobStore | None,
    ) -> None:
        super().__init__(scope, construct_id)
        assert store, "preflight refuses an asynchronous endpoint without jobs"
        self._deployment, self._store = resolution.deployment, store
        handler = sources.model_handler(resolution.deployment.serving.handler)
        self._endpoint = AsyncEndpoint(
            self, "Endpoint", resolution=resolution, model_handler=handler, surroundings=surroundings, store=store
        )
        self.queue = JobQueue(self, "ResultQueue", timeout=_RECORD_TIMEOUT, surroundings=surroundings)
        self.environment = self._endpoint.environment | {"JOB_QUEUE_URL": ""}
        self.outputs, self.alarms = self._endpoint.outputs, self._endpoint.alarms
        self.endpoint_name: str | None = self._endpoint.name
        self.worker_log_groups: Sequence[LogGroup] = ()
        self.model_role, self.model_log_group = self._endpoint.role, self._endpoint.log_group

    def grant_generate(self, grantee: iam.IGrantable) -> None:
        """Let a function submit a job and wait for its end."""
        self._endpoint.grant_invoke(grantee)
        self._endpoint.grant_describe(grantee)
        self._store.grant_submit(grantee)

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a function read the endpoint's status."""
        self._endpoint.grant_describe(grantee)

    def grant_dispatch(self, grantee: iam.IGrantable) -> None:
        """Let a function invoke the endpoint."""
        self._endpoint.grant_invoke(grantee)

    def grant_tend(self, grantee: iam.IGrantable) -> None:
        """Let the sweeper invoke the endpoint again."""
        self._endpoint.grant_invoke(grantee)

    def add_functions(
        self, scope: Construct, handlers: Handlers, alarms: AlarmGroup, every_minute: EveryMinute
    ) -> None:
        """Add the recorder, and an alarm on results that it does not read."""
        for topic in self._endpoint.topics:
            self.queue.subscribe(topic)
        record = HandlerFunction(
            scope,
            "RecordResult",
            handler="record_result",
            timeout=_RECORD_TIMEOUT,
            failures=FAILURES_GO_BACK,
            handlers=handlers,
        ).function
        grant_announce(record, "Job Ended")
        self.queue.feed(record, batch_size=10, max_concurrency=self._deployment.most_workers)
        self._store.grant_collect(record)
        self._endpoint.grant_describe(record)
        means = f"a result of the endpoint waited more than {_RESULT_DELAY_IN_SECONDS} s to be recorded"
        alarms.add("Results", self.queue.metric_oldest_message(), _RESULT_DELAY_IN_SECONDS, means=means)

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the endpoint after all else of the service."""
        self._endpoint.create_last(service)

    def panels(self) -> Sequence[Panel]:
        """Return what a dashboard shows of the endpoint."""
        return self._endpoint.panels()

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has been in SageMaker's queue."""
        return self._endpoint.metric_oldest_job()

    def metric_waiting_jobs(self) -> cloudwatch.Metric:
        """Return the number of jobs in SageMaker's queue and in the containers."""
        return self._endpoint.metric_backlog()

    def metric_model_latency(self) -> cloudwatch.Metric | None:
        """Return the time that the container takes for an invocation, in microseconds."""
        return self._endpoint.metric_model_latency()

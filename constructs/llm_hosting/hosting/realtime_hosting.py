"""`hosting.mode: realtime`: an endpoint that answers at once, and a worker that feeds it the jobs of a queue."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import ENDPOINT_LOGS
from ..alarm_group import AlarmGroup
from ..api.every_minute import EveryMinute
from ..api.handler_function import HandlerFunction, Handlers
from ..dashboard.panel import Panel
from ..dashboard.tokens import stream_panel
from ..endpoint.components.endpoint import ComponentEndpoint
from ..endpoint.realtime_endpoint import RealtimeEndpoint
from ..endpoint.served_model import model_log_group
from ..jobs.events import grant_announce
from ..jobs.queue import FAILURES_GO_BACK, JobQueue
from ..jobs.store import JobStore
from ..log_group import LogGroup
from ..resolution import Resolution
from ..sources import Sources
from ..surroundings import Surroundings

_WORK_TIMEOUT = Duration.seconds(90)  # a call of the endpoint may take 60 s


class RealtimeHosting(Construct):
    """A RealtimeEndpoint and, if the deployment takes jobs, their queue and the worker that calls the endpoint."""

    generate_handler = "generate"

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
        self._deployment, self._store, self._surroundings = resolution.deployment, store, surroundings
        self._streams, self._sleeps = resolution.streams, resolution.deployment.hosting.sleeps
        handler = sources.model_handler(resolution.deployment.serving.handler)
        # Their ids differ, so that both sets of resources stand side by side while a deployment changes.
        kind, construct = (
            (ComponentEndpoint, "ComponentEndpoint")
            if resolution.deployment.uses_components
            else (RealtimeEndpoint, "Endpoint")
        )
        self._endpoint = kind(self, construct, resolution=resolution, model_handler=handler, surroundings=surroundings)
        if resolution.deployment.uses_components:
            # It outlives its endpoint, so a model that stays awake again could not get it anew: it stays in the stack.
            of_model = f"{ENDPOINT_LOGS}{surroundings.unique_name}"
            model_log_group(Construct(self, "Endpoint"), of_model, resolution.deployment.logs, surroundings)
        self._queue = JobQueue(self, "WorkQueue", timeout=_WORK_TIMEOUT, surroundings=surroundings) if store else None
        self.environment = self._endpoint.environment | ({"JOB_QUEUE_URL": self._queue.url} if self._queue else {})
        self.outputs, self.alarms = self._endpoint.outputs, self._endpoint.alarms
        self.endpoint_name: str | None = self._endpoint.name
        self.worker_log_groups: Sequence[LogGroup] = ()
        self.model_role, self.model_log_group = self._endpoint.role, self._endpoint.log_group

    @property
    def queue(self) -> JobQueue:
        """The queue of jobs that wait for the worker."""
        assert self._queue, "the deployment takes no jobs"
        return self._queue

    def grant_generate(self, grantee: iam.IGrantable) -> None:
        """Let a function call the model, wake it and, if the model is not ready, wait for a job."""
        self._endpoint.grant_invoke(grantee)
        self._endpoint.grant_describe(grantee)
        self._grant_wake(grantee)
        if self._streams:
            self._endpoint.grant_stream(grantee)
        if (self._streams or self._sleeps) and self._store:
            self._store.grant_submit(grantee)
            self.grant_dispatch(grantee)

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a function read the endpoint's status."""
        self._endpoint.grant_describe(grantee)

    def grant_dispatch(self, grantee: iam.IGrantable) -> None:
        """Let a function put a job into the queue."""
        self.queue.grant_send(grantee)

    def grant_tend(self, grantee: iam.IGrantable) -> None:
        """Let the sweeper put jobs into an empty queue again."""
        self.queue.grant_send(grantee)
        self.queue.grant_count(grantee)

    def add_functions(
        self, scope: Construct, handlers: Handlers, alarms: AlarmGroup, every_minute: EveryMinute
    ) -> None:
        """Add the worker."""
        assert self._store
        work = HandlerFunction(
            scope,
            "RunJob",
            handler="run_job",
            timeout=_WORK_TIMEOUT,
            failures=FAILURES_GO_BACK,
            handlers=handlers,
            calls_itself=True,  # a job that the model cannot take now goes back into the queue, with a delay
        ).function
        grant_announce(work, "Job Ended")
        self.queue.feed(work, batch_size=1, max_concurrency=self._deployment.most_workers)
        self.queue.grant_send(work)
        self.queue.grant_postpone(work)
        self._store.grant_work(work)
        self._endpoint.grant_invoke(work)
        self._endpoint.grant_describe(work)
        self._grant_wake(work)

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the endpoint after all else of the service."""
        self._endpoint.create_last(service)

    def panels(self) -> Sequence[Panel]:
        """Return what a dashboard shows of the endpoint and, if it streams, of streams."""
        return [*self._endpoint.panels(), *([stream_panel(self._surroundings)] if self._streams else [])]

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has been in the queue."""
        return self.queue.metric_oldest_message()

    def metric_waiting_jobs(self) -> cloudwatch.Metric:
        """Return the number of jobs in the queue."""
        return self.queue.metric_waiting()

    def metric_model_latency(self) -> cloudwatch.Metric | None:
        """Return the time that the container takes for an invocation, in microseconds."""
        return self._endpoint.metric_model_latency()

    def _grant_wake(self, grantee: iam.IGrantable) -> None:
        if isinstance(self._endpoint, ComponentEndpoint) and self._sleeps:
            self._endpoint.grant_wake(grantee)

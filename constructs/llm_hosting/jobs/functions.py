"""The functions of jobs: the one that holds callers, and those that move jobs on."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..api.every_minute import EveryMinute
from ..api.handler_function import Handlers
from ..api.inference_api import InferenceApi
from ..dashboard.panel import Panel, Question, graph, of, percentiles
from ..deployment.settings.jobs import Jobs
from ..deployment.settings.operating import Alarms
from .alarms import JobAlarms
from .batches import Batches
from .events import grant_announce
from .hosting_mode import HostingMode
from .store import JobStore

_HOLD_MEMORY_IN_MB = 256  # the function mostly waits, and a waiting function costs by its memory


class JobFunctions(Construct):
    """The sweeper, the functions that the hosting mode adds, and their alarms.

    alarms: the alarms on jobs and batches, by their ids.
    """

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
        self._store, self._hosting, self._surroundings = store, hosting, handlers.surroundings
        self._batches: Batches | None = None
        self._every_minute = EveryMinute(self, "EveryMinute", handlers=handlers)
        alarm_group = JobAlarms(
            self,
            "Alarms",
            settings=alarms,
            jobs=settings,
            surroundings=handlers.surroundings,
            oldest_job=hosting.metric_oldest_job(),
            dead_letters=hosting.queue.metric_dead_letters(),
        )
        self._every_minute.add_alarm(alarm_group)
        self._add_sweeper()
        hosting.add_functions(self, handlers, alarm_group, self._every_minute)
        self.alarms: dict[str, cloudwatch.Alarm] = alarm_group.alarms

    def add_poll(self, api: InferenceApi) -> lambda_.Function:
        """Add the function that holds callers until a job ends."""
        poll = api.add_function(handler="poll_job", memory_in_mb=_HOLD_MEMORY_IN_MB)
        self._store.grant_wait(poll)
        return poll

    def grant_routes(self, short: lambda_.Function) -> None:
        """Let the function of the short routes submit, list and cancel jobs."""
        self._store.grant_submit(short)
        self._hosting.grant_dispatch(short)
        self._hosting.grant_describe(short)
        self._store.grant_list(short)
        grant_announce(short, "Job Ended")

    def add_batches(self, short: lambda_.Function) -> None:
        """Add OpenAI's Files and Batch API. short: the function of the short routes."""
        self._batches = batches = Batches(self, "Batches", store=self._store, surroundings=self._surroundings)
        self.alarms |= batches.alarms.alarms
        batches.grant_routes(short)
        batches.add_driver(self._every_minute, self._hosting)

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of jobs and batches."""
        total, named = cloudwatch.Stats.SUM, self._surroundings.metric
        ended = {
            "JobsSucceeded": "succeeded",
            "JobsFailed": "failed",
            "JobsExpired": "expired",
            "JobsCancelled": "cancelled",
        }
        trouble = [
            of(named("JobsEndedBySweeper", total), total, "ended by the sweeper"),
            of(self._hosting.queue.metric_dead_letters(), "Maximum", "dead letters"),
            of(self._every_minute.function.metric_errors(), total, "failed tasks of each minute"),
            *([of(self._batches.metric_stuck(), total, "steps of stuck batches")] if self._batches else []),
        ]
        oldest = of(self._hosting.metric_oldest_job(), "Maximum", "the oldest job")
        waiting = of(self._hosting.metric_waiting_jobs(), "Maximum", "jobs")
        return [
            Panel(
                Question.JOBS,
                "As many jobs should succeed as are accepted, and nothing should be in trouble.",
                [
                    graph(
                        "Jobs",
                        of(named("JobsAccepted", total), total, "accepted"),
                        *(of(named(name, total), total, label) for name, label in ended.items()),
                        unit="jobs",
                    ),
                    graph("From accepted to ended", *percentiles(named("JobSeconds", "p50")), unit="seconds"),
                    graph("Trouble", *trouble, unit="times"),
                ],
            ),
            Panel(
                Question.FULL,
                "Jobs wait while the model is busy or starts; those that wait past their deadline expire.",
                [graph("Queue", waiting, unit="jobs"), graph("Wait", oldest, unit="seconds")],
            ),
        ]

    def _add_sweeper(self) -> None:
        self._every_minute.add_task(handler="sweep_jobs")
        sweep = self._every_minute.function
        grant_announce(sweep, "Job Ended")
        self._store.grant_find_due(sweep)
        self._store.grant_collect(sweep)
        self._hosting.grant_tend(sweep)

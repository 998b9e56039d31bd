"""OpenAI's Files and Batch API: the driver of batches, and an alarm on batches that are stuck."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..acknowledgement import acknowledge
from ..alarm_group import AlarmGroup
from ..api.every_minute import NEXT_CALL, EveryMinute
from ..surroundings import Surroundings
from .events import SOURCE, grant_announce
from .hosting_mode import HostingMode
from .store import JobStore


class Batches(Construct):
    """Batches, each line of which is a job. Their rows are in the job table, their files in the job bucket."""

    def __init__(self, scope: Construct, construct_id: str, *, store: JobStore, surroundings: Surroundings) -> None:
        super().__init__(scope, construct_id)
        self._store, self._deployment, self._surroundings = store, surroundings.name, surroundings
        self.alarms = AlarmGroup(self, "Alarms", topic=surroundings.alarm_topic, runbook_url=surroundings.runbook_url)
        self.alarms.add("Stuck", self.metric_stuck(), 0, periods=3, breaching=3, means="a batch did not go on")

    def metric_stuck(self) -> cloudwatch.Metric:
        """Return how often the driver could not take a step of a batch, or found one that is late."""
        return self._surroundings.metric("BatchesStuck", cloudwatch.Stats.SUM)

    def grant_routes(self, short: lambda_.Function) -> None:
        """Let the function of the short routes keep files and announce batches."""
        self._store.grant_keep_files(short)
        grant_announce(short, "Batch Waits")

    def add_driver(self, every_minute: EveryMinute, hosting: HostingMode) -> None:
        """Run the driver each minute, and at once when an event says that a batch waits."""
        every_minute.add_task(handler="advance_batches")
        driver = every_minute.function
        self._store.grant_advance(driver)
        hosting.grant_dispatch(driver)
        hosting.grant_describe(driver)
        grant_announce(driver, "Job Ended")
        rule = events.Rule(
            self,
            "WaitingBatch",
            event_pattern=events.EventPattern(
                source=[SOURCE], detail_type=["Batch Waits"], detail={"deployment": [self._deployment]}
            ),
            targets=[targets.LambdaFunction(driver, retry_attempts=0)],
        )
        acknowledge(rule, {"Serverless-EventBusDLQ": NEXT_CALL})

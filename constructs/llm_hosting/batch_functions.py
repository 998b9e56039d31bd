"""The functions of OpenAI's Files and Batch API: two for callers, and the driver of batches."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .acknowledgement import acknowledge
from .alarm_group import AlarmGroup
from .deployment import Alarms
from .every_minute import EveryMinute
from .handler_function import HandlerFunction, Handlers
from .hosting_modes import HostingMode
from .inference_api import InferenceApi
from .job_events import grant_announce
from .job_store import JobStore

_ADVANCE_TIMEOUT = cdk.Duration.seconds(60)
_ADVANCE_MEMORY_IN_MB = 1024  # some answers, and a part of a file, are in memory at once

_FIVE_MINUTES = cdk.Duration.minutes(5)
_FAILED_CALLS = 2  # of five; the next call does the work of a single failed one
_NEXT_CALL = "The next call, at most a minute later, does the work of one that failed; an alarm counts them."


class BatchFunctions(Construct):
    """Each line of a batch is a job; rows are in the table of jobs, files in its bucket."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        api: InferenceApi,
        alarms: Alarms,
        handlers: Handlers,
        store: JobStore,
        hosting: HostingMode,
    ) -> None:
        super().__init__(scope, construct_id)
        files = api.add_function("POST", "/files", handler="files", takes_bearer=True)
        api.add_route("GET", "/files", files, takes_bearer=True)
        api.add_route("GET", "/files/{id}", files, takes_bearer=True)
        api.add_route("DELETE", "/files/{id}", files, takes_bearer=True)
        api.add_route("GET", "/files/{id}/content", files, takes_bearer=True)
        store.grant_keep_files(files)
        batches = api.add_function("POST", "/batches", handler="batches", takes_bearer=True)
        api.add_route("GET", "/batches", batches, takes_bearer=True)
        api.add_route("GET", "/batches/{id}", batches, takes_bearer=True)
        api.add_route("POST", "/batches/{id}/cancel", batches, takes_bearer=True)
        store.grant_keep_batches(batches)
        grant_announce(batches)
        self._add_alarms(alarms, driver=self._add_driver(handlers, store, hosting))

    def _add_driver(self, handlers: Handlers, store: JobStore, hosting: HostingMode) -> lambda_.Function:
        driver = HandlerFunction(
            self,
            "AdvanceBatches",
            handler="advance_batches",
            timeout=_ADVANCE_TIMEOUT,
            memory_in_mb=_ADVANCE_MEMORY_IN_MB,
            failures=_NEXT_CALL,
            handlers=handlers,
        ).function
        store.grant_advance(driver)
        hosting.grant_dispatch(driver)
        hosting.grant_describe(driver)
        grant_announce(driver)
        EveryMinute(self, "EveryMinute", function=driver)
        rule = events.Rule(
            self,
            "WaitingBatch",
            event_pattern=events.EventPattern(
                source=["slipway"], detail_type=["Batch Waits"], detail={"deployment": [cdk.Aws.STACK_NAME]}
            ),
            targets=[targets.LambdaFunction(driver, retry_attempts=0)],
        )
        acknowledge(rule, {"Serverless-EventBusDLQ": _NEXT_CALL})
        return driver

    def _add_alarms(self, settings: Alarms, *, driver: lambda_.Function) -> None:
        alarms = AlarmGroup(self, "Alarms", topic_arn=settings.topic_arn)
        total = cloudwatch.Stats.SUM
        failed = driver.metric_errors(period=_FIVE_MINUTES, statistic=total)
        alarms.add("Advances", failed, _FAILED_CALLS)
        stuck = cloudwatch.Metric(
            namespace="Slipway",
            metric_name="BatchesStuck",
            dimensions_map={"Deployment": cdk.Aws.STACK_NAME},
            statistic=total,
            period=_FIVE_MINUTES,
        )
        alarms.add("Stuck", stuck, 0, periods=3, breaching=3)

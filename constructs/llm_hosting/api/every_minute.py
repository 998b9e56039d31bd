"""The function that runs the tasks of each minute, each task in a call of its own."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from ..acknowledgement import acknowledge
from ..alarm_group import AlarmGroup
from .handler_function import HandlerFunction, Handlers

NEXT_CALL = "A failed call is not kept: the next one, a minute later, does its work; an alarm counts them."

_MINUTE = cdk.Duration.minutes(1)
_MEMORY_IN_MB = 1769  # enough for one vCPU; the threads of a Python process can use no more
_MOST_FAILED = 3  # in five minutes: an outage of one minute fails each task once, a broken task fails five times


class EveryMinute(HandlerFunction):
    """Runs one task per call, so that no task waits for another. A failed or late call is not repeated."""

    def __init__(self, scope: Construct, construct_id: str, *, handlers: Handlers) -> None:
        super().__init__(
            scope,
            construct_id,
            handler="every_minute",
            timeout=_MINUTE,
            memory_in_mb=_MEMORY_IN_MB,
            failures=NEXT_CALL,
            handlers=handlers,
        )
        self._rule = events.Rule(self, "Rule", schedule=events.Schedule.rate(_MINUTE))
        acknowledge(self._rule, {"Serverless-EventBusDLQ": NEXT_CALL})
        # EventBridge only hands the call over. By default Lambda would repeat a failed call, and keep it for six hours.
        self.function.configure_async_invoke(retry_attempts=0, max_event_age=_MINUTE)
        acknowledge(self.function, {"Serverless-LambdaAsyncFailureDestination": NEXT_CALL})

    def add_task(self, *, handler: str) -> None:
        """Run a module of `inference_api.tasks` each minute. Grant its permissions to `function`."""
        task = events.RuleTargetInput.from_object({"task": handler})
        self._rule.add_target(targets.LambdaFunction(self.function, event=task, retry_attempts=0))

    def add_alarm(self, alarms: AlarmGroup) -> None:
        """Add an alarm on failed calls, timeouts included. The function's log names the task of each call."""
        failed = self.function.metric_errors(period=cdk.Duration.minutes(5), statistic=cloudwatch.Stats.SUM)
        means = f"more than {_MOST_FAILED} calls of the function every_minute failed"
        alarms.add("EveryMinute", failed, _MOST_FAILED, means=means)

"""A rule that calls a function once a minute."""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .acknowledgement import acknowledge

_NEXT_ONE = "A call that fails is not worth keeping: the next one, a minute later, does its work; an alarm counts them."


class EveryMinute(Construct):
    """No call is repeated, and none that had to wait is made up for: the next one does its work."""

    def __init__(self, scope: Construct, construct_id: str, *, function: lambda_.Function) -> None:
        super().__init__(scope, construct_id)
        minute = cdk.Duration.minutes(1)
        rule = events.Rule(
            self,
            "Rule",
            schedule=events.Schedule.rate(minute),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )
        acknowledge(rule, {"Serverless-EventBusDLQ": _NEXT_ONE})
        # EventBridge only hands the call over; it is Lambda that would repeat it, and keep it for six hours.
        function.configure_async_invoke(retry_attempts=0, max_event_age=minute)
        acknowledge(function, {"Serverless-LambdaAsyncFailureDestination": _NEXT_ONE})

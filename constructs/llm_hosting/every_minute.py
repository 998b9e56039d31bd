"""A rule that calls a function once a minute."""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .acknowledgement import acknowledge

_NEXT_CALL = "A failed call is not kept: the next one, a minute later, does its work; an alarm counts them."


class EveryMinute(Construct):
    """A failed or late call is not repeated: the next one does its work."""

    def __init__(self, scope: Construct, construct_id: str, *, function: lambda_.Function) -> None:
        super().__init__(scope, construct_id)
        minute = cdk.Duration.minutes(1)
        rule = events.Rule(
            self,
            "Rule",
            schedule=events.Schedule.rate(minute),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )
        acknowledge(rule, {"Serverless-EventBusDLQ": _NEXT_CALL})
        # EventBridge only hands the call over; Lambda would repeat it, and keep it for six hours.
        function.configure_async_invoke(retry_attempts=0, max_event_age=minute)
        acknowledge(function, {"Serverless-LambdaAsyncFailureDestination": _NEXT_CALL})

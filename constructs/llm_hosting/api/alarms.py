"""Alarms on the API and its functions: failed requests, throttled functions."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..alarm_group import AlarmGroup, percent
from ..deployment.settings.operating import Alarms
from ..surroundings import Surroundings

_MINUTE = Duration.minutes(1)


class ApiAlarms(AlarmGroup):
    """Alarms that go off when two of three minutes are above the threshold.

    server_errors: a metric that is 1 for each request answered with 5XX and 0 for every other request.
    functions: at most ten, because an alarm takes ten metrics beside its expression.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Alarms,
        surroundings: Surroundings,
        server_errors: cloudwatch.Metric,
        functions: Sequence[lambda_.Function],
    ) -> None:
        super().__init__(scope, construct_id, topic=surroundings.alarm_topic, runbook_url=surroundings.runbook_url)
        self.add(
            "ServerErrors",
            server_errors,
            settings.error_rate,
            periods=3,
            breaching=2,
            means=f"the API answered more than {percent(settings.error_rate)} of its requests with 5XX",
        )
        throttles = {
            f"m{number}": function.metric_throttles(period=_MINUTE, statistic=cloudwatch.Stats.SUM)
            for number, function in enumerate(functions)
        }
        # A function without calls has no data, and a sum with a missing part is missing.
        filled = ", ".join(f"FILL({metric}, 0)" for metric in throttles)
        throttled = cloudwatch.MathExpression(
            expression=f"SUM([{filled}])", using_metrics=throttles, period=_MINUTE, label="Throttled calls"
        )
        self.add("Throttles", throttled, 0, periods=3, breaching=2, means="Lambda throttled calls of the functions")

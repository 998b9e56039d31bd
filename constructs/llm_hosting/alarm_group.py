"""CloudWatch alarms that notify the same topic, each with its meaning and the place of its paragraph in the runbook."""

import re

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

RUNBOOK = "docs/runbook.md"


class AlarmGroup(Construct):
    """Alarms that go off above their thresholds. Missing data does not breach a threshold.

    topic: the SNS topic that each alarm notifies when it starts and when it ends; None = no topic.
    runbook_url: the page with a paragraph for each alarm; None = ours.
    alarms: the alarms by their ids.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, topic: sns.ITopic | None, runbook_url: str | None
    ) -> None:
        super().__init__(scope, construct_id)
        self.alarms: dict[str, cloudwatch.Alarm] = {}
        self._topic, self._runbook_url = topic, runbook_url

    def add(
        self,
        construct_id: str,
        metric: cloudwatch.Metric | cloudwatch.MathExpression,
        threshold: float,
        *,
        means: str,
        periods: int = 1,
        breaching: int = 1,
        paragraph: str | None = None,
    ) -> cloudwatch.Alarm:
        """Add an alarm that goes off when `breaching` of the last `periods` are above the threshold.

        means: what happened then, without the time. paragraph: of the runbook; None = the one with the alarm's id.
        """
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=periods,
            datapoints_to_alarm=breaching,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=described(
                f"{_time(metric.period, periods, breaching)}{means}",
                paragraph or re.sub("(?<!^)(?=[A-Z])", "-", construct_id).lower(),
                self._runbook_url,
            ),
        )
        if self._topic:
            action = actions.SnsAction(self._topic)
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)
        self.alarms[construct_id] = alarm
        return alarm


def described(meaning: str, paragraph: str, runbook_url: str | None) -> str:
    """Return the description of an alarm. paragraph: the anchor of its paragraph in the runbook."""
    place = f"{runbook_url or RUNBOOK}#{paragraph}"
    return f"{meaning[0].upper()}{meaning[1:]}. What to do: {place}" + (
        "" if runbook_url else f", or slipway runbook {paragraph}"
    )


def percent(share: float) -> str:
    """Return a share as descriptions show it: 0.005 -> 0.5 %."""
    return f"{share * 100:g} %"


def _time(period: Duration, periods: int, breaching: int) -> str:
    minutes = int(period.to_minutes())
    all_of_it = f"{periods * minutes} minutes" if minutes < 60 else f"{periods} hours"
    if breaching == periods > 1:
        return f"for {all_of_it} "
    if breaching > 1:
        return f"in {breaching} of {periods} {'minutes' if minutes == 1 else f'periods of {minutes} minutes'} "
    return f"in the last {all_of_it} " if periods * minutes > 1 else ""

"""CloudWatch alarms that notify the same topic."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct


class AlarmGroup(Construct):
    """Alarms that go off above their thresholds. Missing data does not breach a threshold.

    topic: the SNS topic that each alarm notifies when it starts and when it ends; None = no topic.
    alarms: the alarms by their ids.
    """

    def __init__(self, scope: Construct, construct_id: str, *, topic: sns.ITopic | None) -> None:
        super().__init__(scope, construct_id)
        self.alarms: dict[str, cloudwatch.Alarm] = {}
        self._topic = topic

    def add(
        self, construct_id: str, metric: cloudwatch.IMetric, threshold: float, *, periods: int = 1, breaching: int = 1
    ) -> cloudwatch.Alarm:
        """Add an alarm that goes off when `breaching` of the last `periods` are above the threshold."""
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=periods,
            datapoints_to_alarm=breaching,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        if self._topic:
            action = actions.SnsAction(self._topic)
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)
        self.alarms[construct_id] = alarm
        return alarm

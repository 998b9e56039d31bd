"""CloudWatch alarms that notify the same topic."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct


class AlarmGroup(Construct):
    """Each alarm goes off above its threshold; missing data is not breaching.

    topic_arn: SNS topic that hears of each alarm and of its end; None = none.
    """

    def __init__(self, scope: Construct, construct_id: str, *, topic_arn: str | None) -> None:
        super().__init__(scope, construct_id)
        self.alarms: list[cloudwatch.Alarm] = []
        self._topic = sns.Topic.from_topic_arn(self, "Topic", topic_arn) if topic_arn else None

    def add(
        self, construct_id: str, metric: cloudwatch.IMetric, threshold: float, *, periods: int = 1, breaching: int = 1
    ) -> cloudwatch.Alarm:
        """An alarm that goes off when `breaching` of the last `periods` are above the threshold."""
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
        self.alarms.append(alarm)
        return alarm

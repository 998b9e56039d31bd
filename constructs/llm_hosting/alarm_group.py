"""CloudWatch alarms that belong together and tell the same topic."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct


class AlarmGroup(Construct):
    """Each alarm goes off above its threshold; without data all is well."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.alarms: list[cloudwatch.Alarm] = []

    def add(
        self, construct_id: str, metric: cloudwatch.Metric, threshold: float, *, periods: int = 1, breaching: int = 1
    ) -> None:
        """One more alarm, which goes off when so many of the last periods are above the threshold."""
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
        self.alarms.append(alarm)

    def notify(self, topic_arn: str) -> None:
        """Tell an SNS topic when an alarm goes off and when it is over."""
        action = actions.SnsAction(sns.Topic.from_topic_arn(self, "Topic", topic_arn))
        for alarm in self.alarms:
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)

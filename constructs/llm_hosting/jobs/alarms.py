"""Alarms on jobs: dead letters, long waits, failures, jobs ended by the sweeper."""

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..alarm_group import AlarmGroup
from ..deployment.model import Alarms, Jobs

_FIVE_MINUTES = Duration.minutes(5)


class JobAlarms(AlarmGroup):
    """The alarms of jobs. oldest_job: the metric with the age in seconds of the job that has waited longest."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Alarms,
        jobs: Jobs,
        oldest_job: cloudwatch.Metric,
        dead_letters: cloudwatch.Metric,
    ) -> None:
        super().__init__(scope, construct_id, topic_arn=settings.topic_arn)
        average, total = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.SUM
        wait_in_seconds = settings.job_wait_in_seconds or jobs.deadline_in_seconds // 2
        self.add("DeadLetters", dead_letters, 0)
        self.add("Waiting", oldest_job, wait_in_seconds)
        self.add("EndedBySweeper", _metric("JobsEndedBySweeper", total), 0)
        self.add("Failed", _metric("JobFailed", average), settings.failed_job_rate, periods=3, breaching=2)


def _metric(name: str, statistic: str) -> cloudwatch.Metric:
    """Return a metric that the functions write to their logs with `inference_api.shared.metrics`."""
    return cloudwatch.Metric(
        namespace="Slipway",
        metric_name=name,
        dimensions_map={"Deployment": Aws.STACK_NAME},
        statistic=statistic,
        period=_FIVE_MINUTES,
    )

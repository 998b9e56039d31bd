"""Alarms on jobs: dead letters, long waits, failures, jobs ended by the sweeper."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..alarm_group import AlarmGroup
from ..deployment.settings.jobs import Jobs
from ..deployment.settings.operating import Alarms
from ..surroundings import Surroundings


class JobAlarms(AlarmGroup):
    """The alarms of jobs. oldest_job: the metric with the age in seconds of the job that has waited longest."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Alarms,
        jobs: Jobs,
        surroundings: Surroundings,
        oldest_job: cloudwatch.Metric,
        dead_letters: cloudwatch.Metric,
    ) -> None:
        super().__init__(scope, construct_id, topic=surroundings.alarm_topic)
        average, total = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.SUM
        wait_in_seconds = settings.job_wait_in_seconds or jobs.deadline_in_seconds // 2
        self.add("DeadLetters", dead_letters, 0)
        self.add("Waiting", oldest_job, wait_in_seconds)
        self.add("EndedBySweeper", surroundings.metric("JobsEndedBySweeper", total), 0)
        self.add("Failed", surroundings.metric("JobFailed", average), settings.failed_job_rate, periods=3, breaching=2)

"""Alarms on jobs: dead letters, long waits, failures, jobs ended by the sweeper."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..alarm_group import AlarmGroup, percent
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
        super().__init__(scope, construct_id, topic=surroundings.alarm_topic, runbook_url=surroundings.runbook_url)
        average, total = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.SUM
        wait_in_seconds = longest_wait(settings, jobs)
        self.add("DeadLetters", dead_letters, 0, means="a message that failed ten times was put aside")
        self.add("Waiting", oldest_job, wait_in_seconds, means=f"the oldest job waited more than {wait_in_seconds:,} s")
        self.add(
            "EndedBySweeper",
            surroundings.metric("JobsEndedBySweeper", total),
            0,
            means="the sweeper ended a job that nothing else ended",
        )
        self.add(
            "Failed",
            surroundings.metric("JobFailed", average),
            settings.failed_job_rate,
            periods=3,
            breaching=2,
            means=f"more than {percent(settings.failed_job_rate)} of the jobs that ended failed or expired",
        )


def longest_wait(settings: Alarms, jobs: Jobs) -> int:
    """Return the seconds after which a job has waited too long."""
    return settings.job_wait_in_seconds or jobs.deadline_in_seconds // 2

"""Alarms on jobs: those that nobody handles, that wait too long, that fail, and those that only the sweeper ended."""

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .alarm_group import AlarmGroup
from .deployment import Alarms, Jobs
from .job_queue import JobQueue

_FIVE_MINUTES = Duration.minutes(5)
_RESULT_DELAY_IN_SECONDS = 300  # the sweeper ends jobs whose results lie unread, but later
_FAILED_SWEEPS = 2  # of five; a single one is made up for by the next


class JobAlarms(AlarmGroup):
    """oldest_job: metric with the age, in seconds, of the job that has waited longest.

    holds_results: whether `queue` holds results and not the jobs themselves.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Alarms,
        jobs: Jobs,
        oldest_job: cloudwatch.Metric,
        queue: JobQueue,
        holds_results: bool,
        sweeper: lambda_.Function,
    ) -> None:
        super().__init__(scope, construct_id)
        average, total = cloudwatch.Stats.AVERAGE, cloudwatch.Stats.SUM
        wait_in_seconds = settings.job_wait_in_seconds or jobs.deadline_in_seconds // 2
        self.add("DeadLetters", queue.metric_dead_letters(), 0)
        self.add("Waiting", oldest_job, wait_in_seconds)
        self.add("EndedBySweeper", _metric("JobsEndedBySweeper", total), 0)
        self.add("Failed", _metric("JobFailed", average), settings.failed_job_rate, periods=3, breaching=2)
        self.add("Sweeps", sweeper.metric_errors(period=_FIVE_MINUTES, statistic=total), _FAILED_SWEEPS)
        if holds_results:
            self.add("Results", queue.metric_oldest_message(), _RESULT_DELAY_IN_SECONDS)
        if settings.topic_arn:
            self.notify(settings.topic_arn)


def _metric(name: str, statistic: str) -> cloudwatch.Metric:
    """What the functions write to their logs; see `inference_api.metrics`."""
    return cloudwatch.Metric(
        namespace="Slipway",
        metric_name=name,
        dimensions_map={"Deployment": Aws.STACK_NAME},
        statistic=statistic,
        period=_FIVE_MINUTES,
    )

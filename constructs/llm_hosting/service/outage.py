"""The alarm for paging: callers get no answers."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from ..alarm_group import AlarmGroup, described
from ..deployment.model import Deployment
from ..endpoint.alarms import share_of_calls
from ..jobs.alarms import longest_wait
from ..jobs.hosting_mode import HostingMode
from ..surroundings import Surroundings

_NEARLY_ALL = 0.9
_PARAGRAPH = "service-is-down"
# A model that wakes may refuse its callers for the minutes of a start, and is not down.
_AWAKE, _ASLEEP = {"periods": 5, "breaching": 3}, {"periods": 30, "breaching": 20}


class Outage(Construct):
    """An alarm that goes off if nearly nobody gets an answer, and that alone notifies the paging topic.

    It follows alarms of its own, which tell nobody. The service's other alarms go off for a failing minority.
    arn: of the alarm.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        surroundings: Surroundings,
        hosting: HostingMode,
        server_errors: cloudwatch.Metric,
        topic: sns.ITopic,
    ) -> None:
        super().__init__(scope, construct_id)
        self._signs = AlarmGroup(self, "Signs", topic=None, runbook_url=surroundings.runbook_url)
        times = _ASLEEP if deployment.hosting.sleeps else _AWAKE
        self._add("Unanswered", server_errors, "the API answered more than 90 % of its requests with 5XX", **times)
        # Other requests of the API, such as polls, may be answered all the while.
        counter = hosting.environment["ENDPOINT_CONFIGURATION"] or hosting.environment.get("INFERENCE_COMPONENT")
        for name, failed in (("ModelFailures", "failed in"), ("ModelTimeouts", "was too slow for")):
            if counter:
                means = f"the model {failed} more than 90 % of its calls"
                self._add(name, share_of_calls(name, counter), means, **times)
        if deployment.jobs.enabled:
            self._add_jobs(longest_wait(deployment.alarms, deployment.jobs), surroundings, hosting)
        # An L1, because the L2 gives it a fixed name.
        rule = cloudwatch.AlarmRule.any_of(*self._signs.alarms.values())
        down = cloudwatch.CfnCompositeAlarm(
            self,
            "Down",
            alarm_rule=rule.render_alarm_rule(),
            alarm_description=described("Callers get no answers", _PARAGRAPH, surroundings.runbook_url),
            alarm_actions=[topic.topic_arn],
            ok_actions=[topic.topic_arn],
        )
        self.arn = down.attr_arn

    def _add_jobs(self, wait_in_seconds: int, surroundings: Surroundings, hosting: HostingMode) -> None:
        """Add the signs of jobs: nearly all fail, or none ends well while the oldest waits too long."""
        failed = surroundings.metric("JobFailed", cloudwatch.Stats.AVERAGE)
        self._add("JobsFail", failed, "more than 90 % of the jobs that ended failed or expired", periods=3, breaching=2)
        metrics = {
            "oldest": hosting.metric_oldest_job().with_(period=cdk.Duration.minutes(5)),
            "ended": surroundings.metric("JobFailed", cloudwatch.Stats.SAMPLE_COUNT),
            "failed": surroundings.metric("JobFailed", cloudwatch.Stats.SUM),
        }
        stand_still = cloudwatch.MathExpression(
            expression=f"IF(oldest > {wait_in_seconds} AND FILL(ended - failed, 0) < 1, 1, 0)",
            using_metrics=metrics,
            period=cdk.Duration.minutes(5),
        )
        means = f"no job ended well and the oldest waited more than {wait_in_seconds:,} s"
        self._signs.add("JobsStandStill", stand_still, 0, periods=3, breaching=3, means=means, paragraph=_PARAGRAPH)

    def _add(self, construct_id: str, metric: cloudwatch.Metric, means: str, *, periods: int, breaching: int) -> None:
        self._signs.add(
            construct_id,
            metric,
            _NEARLY_ALL,
            means=means,
            periods=periods,
            breaching=breaching,
            paragraph=_PARAGRAPH,
        )

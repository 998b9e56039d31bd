"""The dashboard of a service."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..dashboard.dashboard import Dashboard
from ..dashboard.panel import HEIGHT, WIDTH, Panel, Question
from ..dashboard.tokens import token_panels
from ..deployment.model import Deployment
from ..jobs.hosting_mode import HostingMode
from ..surroundings import Surroundings
from .outage import Outage

_COUNTING = ("generate", "route", "run_job", "record_result", "every_minute")  # functions that end calls or jobs


class ServiceDashboard(Dashboard):
    """What the parts of a service show, its alarms, and the tokens that its functions and machines count."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        surroundings: Surroundings,
        outage: Outage | None,
        alarms: Mapping[str, cloudwatch.Alarm],
        functions: Mapping[str, lambda_.Function],
        hosting: HostingMode,
        panels: Sequence[Panel],
    ) -> None:
        """outage: None = nobody is paged. functions: all of them, by name. panels: of the service's parts."""
        from_arn = cloudwatch.CompositeAlarm.from_composite_alarm_arn
        down = [from_arn(scope, "DownOnDashboard", outage.arn)] if outage else []
        status = cloudwatch.AlarmStatusWidget(
            title="Alarms", alarms=[*down, *alarms.values()], width=2 * WIDTH, height=HEIGHT
        )
        counting = [functions[each].log_group for each in _COUNTING if each in functions]
        groups = [each.log_group_name for each in (*counting, *hosting.worker_log_groups)]
        super().__init__(
            scope,
            construct_id,
            # An account has one list of dashboards for all regions.
            name=surroundings.unique_name,
            title=deployment.model.id,
            panels=[
                Panel(Question.UP, "The service is well if no alarm is on.", [status]),
                *panels,
                *token_panels(surroundings, groups, names_callers=deployment.logs.requests != "none"),
            ],
        )

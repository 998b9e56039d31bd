"""A log group whose retention comes from the deployment."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from .deployment import Logs

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}


class LogGroup(logs.LogGroup):
    """Removed with the stack unless the caller says otherwise."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Logs,
        name: str | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            log_group_name=name,
            retention=_RETENTION[settings.retention_in_days],
            removal_policy=removal_policy,
        )

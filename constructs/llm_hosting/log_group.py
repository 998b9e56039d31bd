"""A log group whose retention comes from the deployment."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct


class LogGroup(logs.LogGroup):
    """Removed with the stack unless `removal_policy` says otherwise.

    retention_in_days: one of the values that CloudWatch Logs allows. key: None = CloudWatch's own encryption.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        retention_in_days: int,
        name: str | None = None,
        key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        super().__init__(scope, construct_id, log_group_name=name, encryption_key=key, removal_policy=removal_policy)
        # The L2 takes an enumeration instead of days.
        self.node.default_child.retention_in_days = retention_in_days

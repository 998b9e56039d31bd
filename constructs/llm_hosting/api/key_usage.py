"""The table of what each API key has used: one row for each owner and month."""

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import CONTENT_TAG, DEPLOYMENT_TAG
from ..key_use import WRITE_ROWS
from ..surroundings import Surroundings


class KeyUsageTable(Construct):
    """The table outlives its stack.

    environment: the variable for functions that count usage. outputs: the stack's outputs.
    """

    def __init__(self, scope: Construct, construct_id: str, *, surroundings: Surroundings) -> None:
        super().__init__(scope, construct_id)
        self._surroundings = surroundings
        self._table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            **surroundings.table_encryption,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute="expires_at",
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        self.environment = {"USAGE_TABLE": self._table.table_name}
        self.outputs = {"UsageTable": self._table.table_name}
        cdk.Tags.of(self).add(DEPLOYMENT_TAG, surroundings.name)
        cdk.Tags.of(self._table).add(CONTENT_TAG, "usage")

    def grant_count(self, grantee: iam.IGrantable) -> None:
        """Let a function admit calls and count what they use. It can read only the row that it changes."""
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["dynamodb:UpdateItem"], resource_arns=[self._table.table_arn]
        )
        self._surroundings.grant_data_key(grantee, WRITE_ROWS)

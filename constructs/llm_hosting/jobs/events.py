"""Slipway's events on the account's default bus."""

from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

SOURCE = "slipway"


def grant_announce(grantee: iam.IGrantable, kind: Literal["Job Ended", "Batch Waits"]) -> None:
    """Let a function put events of this kind, and no others."""
    bus = f"arn:{cdk.Aws.PARTITION}:events:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:event-bus/default"
    iam.Grant.add_to_principal(
        grantee=grantee,
        actions=["events:PutEvents"],
        resource_arns=[bus],
        conditions={"StringEquals": {"events:source": SOURCE, "events:detail-type": kind}},
    )

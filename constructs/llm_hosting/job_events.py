"""The event that announces the end of a job, on the account's default bus."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam


def grant_announce(grantee: iam.IGrantable) -> None:
    """Let a function put the event."""
    bus = f"arn:{cdk.Aws.PARTITION}:events:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:event-bus/default"
    iam.Grant.add_to_principal(grantee=grantee, actions=["events:PutEvents"], resource_arns=[bus])

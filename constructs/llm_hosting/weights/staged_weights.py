"""Permission to read weights that are staged in S3."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from ..acknowledgement import acknowledge
from ..deployment.settings.model import Model


def reading_weights(role: iam.Role, model: Model) -> list[iam.PolicyStatement]:
    """Return statements that let the role read the objects below `model.weights` with their key; none without them."""
    if not model.weights:
        return []
    bucket, _, prefix = model.weights.removeprefix("s3://").partition("/")
    bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{bucket}"
    finding = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{bucket}/{prefix}*]"
    reason = "The role reads every object of the weights' prefix, and nothing else in the bucket."
    acknowledge(role, {finding: reason})
    statements = [
        iam.PolicyStatement(actions=["s3:GetObject"], resources=[f"{bucket_arn}/{prefix}*"]),
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[bucket_arn],
            conditions={"StringLike": {"s3:prefix": [f"{prefix}*"]}},
        ),
    ]
    if model.weights_kms_key_arn:
        statements.append(iam.PolicyStatement(actions=["kms:Decrypt"], resources=[model.weights_kms_key_arn]))
    return statements

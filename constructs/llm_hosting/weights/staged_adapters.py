"""Permission to read a LoRA adapter that is staged in S3."""

import hashlib

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..acknowledgement import acknowledge
from ..deployment.settings.model import archive_of_adapter


def policy_of_adapter(scope: Construct, prefix: str, role: iam.IRole, key_arn: str | None) -> iam.Policy:
    """Let a role read the files below an adapter's prefix and the archive beside it. key_arn: of their key, or None.

    Each adapter has a policy of its own, so that a new one changes no other. Another prefix gets another policy, which
    exists before the adapter is replaced; the old one goes afterwards.
    """
    bucket, _, folder = prefix.removeprefix("s3://").partition("/")
    archive = archive_of_adapter(folder)
    bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{bucket}"
    statements = [
        iam.PolicyStatement(actions=["s3:GetObject"], resources=[f"{bucket_arn}/{folder}*", f"{bucket_arn}/{archive}"]),
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[bucket_arn],
            conditions={"StringLike": {"s3:prefix": [f"{folder}*"]}},
        ),
    ]
    if key_arn:
        statements.append(iam.PolicyStatement(actions=["kms:Decrypt"], resources=[key_arn]))
    digest = hashlib.sha256(f"{prefix} {key_arn}".encode()).hexdigest()[:8]
    policy = iam.Policy(scope, f"Read{digest}", statements=statements, roles=[role])
    finding = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{bucket}/{folder}*]"
    acknowledge(
        scope, {finding: "The role reads every object of the adapter's prefix, and nothing else in the bucket."}
    )
    return policy

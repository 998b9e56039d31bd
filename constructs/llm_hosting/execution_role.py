"""The role that SageMaker assumes to start a model: pull its image, read its weights, write its logs."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from .acknowledgement import acknowledge
from .container_image import ContainerImage
from .log_group import LogGroup


class ExecutionRole(iam.Role):
    """Bound to one image, one log group, one prefix of weights and the deployment's keys."""

    def __init__(self, scope: Construct, construct_id: str, *, image: ContainerImage, log_group: LogGroup) -> None:
        super().__init__(
            scope,
            construct_id,
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
            ),
        )
        image.grant_pull(self)
        self._allow(
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            log_group.log_group_arn,
        )
        self._allow(
            ["cloudwatch:PutMetricData"],
            "*",
            {"StringEquals": {"cloudwatch:namespace": ["AWS/SageMaker", "/aws/sagemaker/Endpoints"]}},
        )
        reason = (
            "ecr:GetAuthorizationToken and cloudwatch:PutMetricData know no narrower resource; a condition binds the "
            "metrics to SageMaker's namespaces."
        )
        acknowledge(self, {"AwsSolutions-IAM5[Resource::*]": reason})

    def allow_reading_weights(self, weights: str, key_arn: str | None) -> None:
        """Let SageMaker read `s3://bucket/prefix/`, and decrypt it if there is a key."""
        bucket, _, prefix = weights.removeprefix("s3://").partition("/")
        bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{bucket}"
        self._allow(["s3:GetObject"], f"{bucket_arn}/{prefix}*")
        self._allow(["s3:ListBucket"], bucket_arn, {"StringLike": {"s3:prefix": [f"{prefix}*"]}})
        if key_arn:
            self._allow(["kms:Decrypt"], key_arn)
        finding = f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{bucket}/{prefix}*]"
        reason = "SageMaker reads every object of the weights' prefix, and nothing else in the bucket."
        acknowledge(self, {finding: reason})

    def allow_publishing(self, topic_arns: list[str]) -> None:
        """Let SageMaker announce results on these topics."""
        self.add_to_policy(iam.PolicyStatement(actions=["sns:Publish"], resources=topic_arns))

    def allow_encrypting_volume(self, key_arn: str) -> None:
        """Let SageMaker attach a volume that is encrypted with this key; the key's own policy must allow it, too."""
        self._allow(["kms:CreateGrant"], key_arn, {"Bool": {"kms:GrantIsForAWSResource": "true"}})

    def _allow(self, actions: list[str], resource: str, conditions: dict[str, object] | None = None) -> None:
        self.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource], conditions=conditions))

"""The role that SageMaker assumes to start a model: pull its image, read its weights, write its logs."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from .container_image import ContainerImage
from .deployment import Model
from .log_group import LogGroup


class ExecutionRole(Construct):
    """Bound to one image, one log group, the alarms of one endpoint and one prefix of weights."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        image: ContainerImage,
        log_group: LogGroup,
        alarms: Sequence[cloudwatch.Alarm],
        model: Model,
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
            ),
        )
        image.grant_pull(self.role)
        self._allow(
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            log_group.log_group_arn,
        )
        self._allow(
            ["cloudwatch:PutMetricData"],
            "*",
            {"StringEquals": {"cloudwatch:namespace": ["AWS/SageMaker", "/aws/sagemaker/Endpoints"]}},
        )
        for alarm in alarms:
            # Without it SageMaker can't watch the alarms of an automatic rollback, and refuses the update.
            self._allow(["cloudwatch:DescribeAlarms"], alarm.alarm_arn)
        self._acknowledge(
            "*",
            "ecr:GetAuthorizationToken and cloudwatch:PutMetricData know no narrower resource; a condition binds the "
            "metrics to SageMaker's namespaces.",
        )
        if model.weights:
            self._allow_reading_weights(model.weights, model.weights_kms_key_arn)

    def _allow_reading_weights(self, weights: str, key_arn: str | None) -> None:
        bucket, _, prefix = weights.removeprefix("s3://").partition("/")
        bucket_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{bucket}"
        self._allow(["s3:GetObject"], f"{bucket_arn}/{prefix}*")
        self._allow(["s3:ListBucket"], bucket_arn, {"StringLike": {"s3:prefix": [f"{prefix}*"]}})
        if key_arn:
            self._allow(["kms:Decrypt"], key_arn)
        self._acknowledge(
            f"arn:<AWS::Partition>:s3:::{bucket}/{prefix}*",
            "SageMaker reads every object of the weights' prefix, and nothing else in the bucket.",
        )

    def _allow(self, actions: list[str], resource: str, conditions: dict[str, object] | None = None) -> None:
        self.role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource], conditions=conditions))

    def _acknowledge(self, resource: str, reason: str) -> None:
        cdk.Validations.of(self.role).acknowledge(
            cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-IAM5[Resource::{resource}]", reason=reason)
        )

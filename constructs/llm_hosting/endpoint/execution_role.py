"""The role that SageMaker assumes to start a model: pull its image, read its weights, write its logs."""

import hashlib
import json
from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from ..acknowledgement import acknowledge
from ..deployment.settings.model import Model
from ..weights.staged_weights import reading_weights
from .container_image import ContainerImage
from .model_archive import ModelArchive

_INTERFACES = (
    "CreateNetworkInterface",
    "CreateNetworkInterfacePermission",
    "DeleteNetworkInterface",
    "DeleteNetworkInterfacePermission",
    "DescribeDhcpOptions",
    "DescribeNetworkInterfaces",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeVpcs",
)
_ANY_INTERFACE = (
    "SageMaker's guide gives these actions on every resource: interfaces get their ids when an instance starts, and "
    "the actions that describe know no narrower resource."
)


METRICS = ("AWS/SageMaker", "/aws/sagemaker/Endpoints")  # namespaces of an endpoint
METRICS_OF_COMPONENTS = (*METRICS, "/aws/sagemaker/InferenceComponents")


class ExecutionRole(iam.Role):
    """A role for one log group and some namespaces of metrics.

    `allow_artefacts` adds an image, its model data and the deployment's keys.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, log_group: logs.ILogGroup, namespaces: Sequence[str]
    ) -> None:
        # The condition that SageMaker's guide gives for inference ("Cross-service confused deputy prevention"): this
        # ARN as it is, its star included, and no aws:SourceAccount.
        source = f"arn:{cdk.Aws.PARTITION}:sagemaker:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:*"
        super().__init__(
            scope,
            construct_id,
            assumed_by=iam.ServicePrincipal(
                "sagemaker.amazonaws.com", conditions={"ArnLike": {"aws:SourceArn": source}}
            ),
        )
        self._allow(
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            log_group.log_group_arn,
        )
        self._allow(
            ["cloudwatch:PutMetricData"],
            "*",
            # Detailed observability sends metrics by OTLP, which has no namespace to restrict.
            {"StringEqualsIfExists": {"cloudwatch:namespace": list(namespaces)}},
        )
        reason = (
            "ecr:GetAuthorizationToken and cloudwatch:PutMetricData know no narrower resource; a condition binds "
            "metrics that have a namespace to SageMaker's."
        )
        acknowledge(self, {"AwsSolutions-IAM5[Resource::*]": reason})

    def allow_artefacts(
        self, model: Model, volume_key: str | None, image: ContainerImage, archive: ModelArchive | None
    ) -> iam.Policy:
        """Let SageMaker fetch and decrypt the image and the model data.

        Other artefacts get another policy instead of a changed one. CloudFormation creates it before it updates the
        endpoint and deletes the old one afterwards, so that old and new instances can start during the update.
        """
        statements = [*image.pull_statements(), *reading_weights(self, model)]
        if archive:
            statements.append(archive.read_statement())
        if volume_key:
            statements.append(_of_volumes(volume_key))
        content = cdk.Stack.of(self).resolve([statement.to_statement_json() for statement in statements])
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
        return iam.Policy(self, f"Artefacts{digest}", statements=statements, roles=[self])

    def allow_volume_key(self, volume_key: str) -> None:
        """Let SageMaker encrypt the volumes of an endpoint without a model."""
        self.add_to_policy(_of_volumes(volume_key))

    def allow_publishing(self, topic_arns: list[str]) -> None:
        """Let SageMaker announce results on these topics."""
        self.add_to_policy(iam.PolicyStatement(actions=["sns:Publish"], resources=topic_arns))

    def allow_network_interfaces(self) -> None:
        """Let SageMaker connect the containers to subnets (SageMaker Developer Guide, "CreateModel API")."""
        policy = iam.Policy(self, "Network", roles=[self])
        policy.add_statements(_statement([f"ec2:{action}" for action in _INTERFACES], "*"))
        acknowledge(policy, {"AwsSolutions-IAM5[Resource::*]": _ANY_INTERFACE})

    def _allow(self, actions: list[str], resource: str, conditions: dict[str, object] | None = None) -> None:
        self.add_to_policy(_statement(actions, resource, conditions))


def _of_volumes(key: str) -> iam.PolicyStatement:
    """Return the permission to use a volume's key; the key's own policy must allow it, too."""
    return _statement(["kms:CreateGrant"], key, {"Bool": {"kms:GrantIsForAWSResource": "true"}})


def _statement(actions: list[str], resource: str, conditions: dict[str, object] | None = None) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=[resource], conditions=conditions)

"""KMS keys for data and for logs, and what their policies let services of AWS do."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from .. import DEPLOYMENT_TAG
from ..key_use import KEY_ACTIONS

# The policies name no resource of the stack: its resources refer to the key, and references both ways are a circle
# that CloudFormation refuses. Roles get their permissions by IAM, to which the key's first statement leaves them.


def make_data_key(scope: Construct, name: str, *, notifies_queues: bool) -> kms.IKey | None:
    """Make a key for data. It outlives the stack, as the data does.

    name: of the deployment. notifies_queues: whether topics of SNS send to queues with this key.
    """
    key = _make(scope, "DataKey", "data", name, cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
    if notifies_queues:
        key.add_to_resource_policy(for_notifications())
    return named_key(scope, "UsedDataKey", key)


def make_log_key(
    scope: Construct, name: str, removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN
) -> kms.IKey | None:
    """Make a key for logs. It outlives the stack and a failed first deploy, as the logs do, unless told otherwise.

    name: of the deployment.
    """
    key = _make(scope, "LogKey", "logs", name, removal_policy)
    key.add_to_resource_policy(for_logs())
    return named_key(scope, "UsedLogKey", key)


def named_key(scope: Construct, construct_id: str, key: kms.IKey | str | None) -> kms.IKey | None:
    """Return a key, or the one with an ARN, as an imported key, whose policy no construct of the CDK extends."""
    if key is None:
        return None
    return kms.Key.from_key_arn(scope, construct_id, key if isinstance(key, str) else key.key_arn)


def for_notifications() -> iam.PolicyStatement:
    """Return the permission of SNS to put messages into an encrypted queue."""
    topics = f"arn:{cdk.Aws.PARTITION}:sns:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:*"
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal("sns.amazonaws.com")],
        actions=["kms:Decrypt", "kms:GenerateDataKey"],
        resources=["*"],
        conditions={"ArnLike": {"aws:SourceArn": topics}},
    )


def for_logs() -> iam.PolicyStatement:
    """Return the permission of CloudWatch Logs to encrypt the account's log groups."""
    groups = f"arn:{cdk.Aws.PARTITION}:logs:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:log-group:*"
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal(f"logs.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}")],
        actions=list(KEY_ACTIONS),
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _make(scope: Construct, construct_id: str, content: str, name: str, removal: cdk.RemovalPolicy) -> kms.Key:
    key = kms.Key(
        scope,
        construct_id,
        description=f"Slipway: {content} of {name}",
        enable_key_rotation=True,
        removal_policy=removal,
    )
    cdk.Tags.of(key).add(DEPLOYMENT_TAG, name)
    return key

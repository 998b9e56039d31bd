"""What a principal may do with the data key: the KMS actions that each service of AWS asks of its callers."""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

# The actions that encrypt and decrypt, without wildcards.
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


@dataclass(frozen=True)
class KeyUse:
    """The actions on a key, and the condition under which they are allowed."""

    actions: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, str]] | None = None

    def statement(self, key_arn: str) -> iam.PolicyStatement:
        """Return the permission of a principal."""
        return iam.PolicyStatement(actions=list(self.actions), resources=[key_arn], conditions=self.conditions)


def _through(service: str, *actions: str) -> KeyUse:
    """Return actions that a service takes for its caller: the caller itself can't use the key with them."""
    # The end differs between partitions. Only AWS can set the value.
    return KeyUse(actions, {"StringLike": {"kms:ViaService": f"{service}.{cdk.Aws.REGION}.*"}})


# DynamoDB Developer Guide, "Encryption at rest usage notes". Reads are the two actions of its read-only example.
READ_ROWS = _through("dynamodb", "kms:Decrypt", "kms:DescribeKey")
WRITE_ROWS = _through("dynamodb", *KEY_ACTIONS)
# S3 User Guide, "Using server-side encryption with AWS KMS keys". An upload in parts needs both.
READ_OBJECTS = _through("s3", "kms:Decrypt")
WRITE_OBJECTS = _through("s3", "kms:GenerateDataKey")
# SQS Developer Guide, "Key management": a producer also decrypts, to verify the new data key.
SEND_MESSAGES = _through("sqs", "kms:Decrypt", "kms:GenerateDataKey")
RECEIVE_MESSAGES = _through("sqs", "kms:Decrypt")
# Lambda decrypts variables as the function's role. It names the function in the encryption context.
READ_VARIABLES = KeyUse(
    ("kms:Decrypt",),
    {
        "StringLike": {
            "kms:EncryptionContext:aws:lambda:FunctionArn": (
                f"arn:{cdk.Aws.PARTITION}:lambda:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:function:*"
            )
        }
    },
)
# SageMaker's guides give an execution role all actions for results and captured data, and say nothing of the way.
KEY_OF_SAGEMAKER = KeyUse(KEY_ACTIONS)

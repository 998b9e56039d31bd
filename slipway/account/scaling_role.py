"""Checks that Application Auto Scaling has its service-linked role."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_ROLE = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"


def scaling_role(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Warn if the role is missing: the first deploy that scales creates it, and may fail before it is ready."""
    try:
        account.clients("iam").get_role(RoleName=_ROLE)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        yield Finding(
            "hosting.instance_count",
            f"the account {account.id} has no role {_ROLE} yet; the deploy creates it, and may fail before it is ready",
            "create it first: aws iam create-service-linked-role --aws-service-name "
            "sagemaker.application-autoscaling.amazonaws.com",
            level="warning",
        )

"""The permissions boundary of the deployment `governed`: the policy that users are told to copy."""

from contextlib import suppress

from botocore.exceptions import ClientError

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.repository import ROOT
from support.stacks.small_stacks import REGION

ARN = f"arn:aws:iam::{ACCOUNT}:policy/governed"
EXAMPLE = (ROOT / "examples" / "permissions-boundary.json").read_text()


def make_boundary(cloud: LocalCloud) -> None:
    """Make the policy, unless a test made it before."""
    with suppress(ClientError):
        cloud.client("iam", region=REGION).create_policy(PolicyName="governed", PolicyDocument=EXAMPLE)


def limit_further(cloud: LocalCloud, document: str) -> None:
    """Give the policy another document as its only version."""
    iam = cloud.client("iam", region=REGION)
    old = iam.get_policy(PolicyArn=ARN)["Policy"]["DefaultVersionId"]
    iam.create_policy_version(PolicyArn=ARN, PolicyDocument=document, SetAsDefault=True)
    iam.delete_policy_version(PolicyArn=ARN, VersionId=old)

"""The container image of an endpoint: its URI in the stack's region and the permission to pull it."""

import re

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..catalog.regions import container_accounts

_OWN_IMAGE = re.compile(r"(?P<account>[^.]+)\.dkr\.ecr\.(?P<region>[^.]+)\.[^/]+/(?P<repository>[^:@]+)")


class ContainerImage(Construct):
    """An image of AWS's deep learning containers (`repository:tag`), or any Amazon ECR image by its URI."""

    def __init__(self, scope: Construct, construct_id: str, *, image: str) -> None:
        super().__init__(scope, construct_id)
        if own := _OWN_IMAGE.match(image):
            self.uri = cdk.Fn.sub(image) if "${" in image else image
            self._repository_arn = cdk.Fn.sub(
                f"arn:${{AWS::Partition}}:ecr:{own['region']}:{own['account']}:repository/{own['repository']}"
            )
        else:
            # Our own table, because the CDK's fact of the same name lacks 13 regions.
            repository = image.partition(":")[0]
            accounts = {region: {"Account": account} for region, account in container_accounts(repository).items()}
            account = cdk.CfnMapping(self, "Accounts", mapping=accounts).find_in_map(cdk.Aws.REGION, "Account")
            self.uri = f"{account}.dkr.ecr.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}/{image}"
            self._repository_arn = f"arn:{cdk.Aws.PARTITION}:ecr:{cdk.Aws.REGION}:{account}:repository/{repository}"

    def pull_statements(self) -> list[iam.PolicyStatement]:
        """Return the permission to pull this image and no other."""
        return [
            iam.PolicyStatement(
                actions=["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                resources=[self._repository_arn],
            ),
            iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]),
        ]

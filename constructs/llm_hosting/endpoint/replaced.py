"""What happens to a resource that an update replaces."""

import aws_cdk as cdk

from .. import DEPLOYMENT_TAG


def outlive_replacement(resource: cdk.CfnResource, deployment: str) -> None:
    """Keep replaced resources: SageMaker may have rolled back to them although CloudFormation reports success.

    terraform-provider-aws#48997, #39099 and #46663. `slipway purge` removes the unused ones, which it finds by their
    tag.
    """
    resource.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
    resource.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.DELETE  # cfn-lint wants both policies
    cdk.Tags.of(resource).add(DEPLOYMENT_TAG, deployment)

"""Applies what a company demands to all roles and resources below a construct: a boundary, a path, tags."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..deployment.settings.governance import Governance


def govern(scope: Construct, governance: Governance, boundary: iam.IManagedPolicy | None = None) -> None:
    """Limit every role below `scope`, and tag every resource that takes tags. Call it when all resources are made.

    boundary: of a team's app, instead of the one that the settings name.
    """
    if arn := governance.permissions_boundary_arn:
        named = str(cdk.Fn.sub(arn)) if "${" in arn else arn
        boundary = iam.ManagedPolicy.from_managed_policy_arn(scope, "PermissionsBoundary", named)
    if boundary:
        iam.PermissionsBoundary.of(scope).apply(boundary)  # of roles that the CDK makes by itself, too
    if governance.role_path:
        for each in scope.node.find_all():
            if isinstance(each, iam.CfnRole | iam.CfnInstanceProfile):
                each.path = governance.role_path
    # In the template and not on the stack: so they also reach stacks of stack sets and of the rendered template.
    for key, value in governance.tags.items():
        cdk.Tags.of(scope).add(key, value)

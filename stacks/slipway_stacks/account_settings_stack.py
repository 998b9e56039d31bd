"""The settings of an account and region. Deploy them once, before the first deployment with access logs."""

import re
from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_hosting import ACCOUNT_DASHBOARD
from llm_hosting.acknowledgement import acknowledge
from llm_hosting.dashboard.dashboard import Dashboard
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.project import ProjectError
from llm_hosting.service.governance import govern
from llm_hosting.service.name import unique_name
from slipway_stacks.account_panels import account_panels

# The actions of AmazonAPIGatewayPushToCloudWatchLogs; API Gateway refuses a role with fewer.
_LOG_ACTIONS = (
    "CreateLogGroup",
    "CreateLogStream",
    "DescribeLogGroups",
    "DescribeLogStreams",
    "FilterLogEvents",
    "GetLogEvents",
    "PutLogEvents",
)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+")


class AccountSettingsStack(cdk.Stack):
    """The CloudWatch role of API Gateway. It is retained: there is one per account and region, which all APIs use.

    With `slipway:account-dashboard` in the context also a dashboard of all services: `true`, or the regions to show.
    governance: what a company demands of the role.
    """

    def __init__(self, scope: Construct, construct_id: str, *, governance: Governance, **kwargs: Any) -> None:
        super().__init__(scope, construct_id, **kwargs)
        role = iam.Role(self, "LogRole", assumed_by=iam.ServicePrincipal("apigateway.amazonaws.com"))
        role.add_to_policy(iam.PolicyStatement(actions=[f"logs:{action}" for action in _LOG_ACTIONS], resources=["*"]))
        reason = "One role serves every API of the account and region; API Gateway refuses it if it may write less."
        acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": reason})
        account = apigateway.CfnAccount(self, "Account", cloud_watch_role_arn=role.role_arn)
        account.node.add_dependency(role)
        govern(role, governance)
        for part in self.node.find_all():
            if isinstance(part, cdk.CfnResource):
                part.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        if regions := _shown_regions(self.node.try_get_context(ACCOUNT_DASHBOARD)):
            self._add_dashboard(regions)

    def _add_dashboard(self, regions: Sequence[str]) -> None:
        # Dashboards of an account have one list for all regions.
        name = unique_name(self, f"slipway-services-{cdk.Aws.REGION}")
        title = "Services of Slipway"
        dashboard = Dashboard(self, "ServicesDashboard", name=name, title=title, panels=account_panels(regions))
        cdk.CfnOutput(self, "Dashboard", value=dashboard.name)


def _shown_regions(setting: object) -> list[str]:
    """Return the regions of the context's setting; none = no dashboard. Raises ProjectError."""
    if setting in (None, False, "false", ""):
        return []
    if setting in (True, "true"):
        return [cdk.Aws.REGION]
    regions = [str(each).strip() for each in (setting if isinstance(setting, list) else str(setting).split(","))]
    if wrong := [each for each in regions if not _REGION.fullmatch(each)]:
        raise ProjectError(
            f"{ACCOUNT_DASHBOARD} in the CDK's context: {wrong[0]!r} is no region; "
            "write true for the region of the stack, or names such as eu-central-1,us-east-1."
        )
    return regions

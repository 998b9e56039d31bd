"""The settings of an account and region. Deploy them once, before the first deployment with access logs."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_hosting.acknowledgement import acknowledge
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.service.governance import govern

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


class AccountSettingsStack(cdk.Stack):
    """The CloudWatch role of API Gateway. It is retained: there is one per account and region, which all APIs use.

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

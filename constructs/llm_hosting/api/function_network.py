"""Connects a function to subnets of a VPC."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from ..acknowledgement import acknowledge
from ..surroundings import Network

# Lambda Developer Guide, "Giving Lambda functions access to resources in an Amazon VPC".
_INTERFACES = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
_ANY_INTERFACE = (
    "Lambda's guide gives these actions on every resource: it makes the interfaces, and they get their ids then. A "
    "second statement denies them to the function's own code."
)


def connect(function: lambda_.Function, role: iam.Role, network: Network) -> None:
    """Connect a function to the subnets, if functions stand in the network, and let Lambda make its interfaces."""
    if not network.function_group_ids:
        return
    interfaces = iam.Policy(role, "Network", roles=[role])
    code = f"arn:{cdk.Aws.PARTITION}:lambda:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:function:*"
    interfaces.add_statements(
        iam.PolicyStatement(actions=list(_INTERFACES), resources=["*"]),
        # Lambda calls with the same role as the function's code, which alone sends this key.
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=list(_INTERFACES),
            resources=["*"],
            conditions={"ArnLike": {"lambda:SourceFunctionArn": code}},
        ),
    )
    acknowledge(interfaces, {"AwsSolutions-IAM5[Resource::*]": _ANY_INTERFACE})
    resource = cast(lambda_.CfnFunction, function.node.default_child)
    resource.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
        subnet_ids=network.subnet_ids, security_group_ids=network.function_group_ids
    )
    if network.connected:
        function.node.add_dependency(network.connected)

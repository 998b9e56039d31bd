"""A VPC endpoint of an AWS service, which lets in only principals of the account."""

import re

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct


class InterfaceEndpoint(ec2.CfnVPCEndpoint):
    """An endpoint with addresses in the subnets, which the service's own name leads to in the whole VPC."""

    def __init__(
        self, scope: Construct, service: str, *, vpc_id: str, subnet_ids: list[str], security_group_id: str
    ) -> None:
        super().__init__(
            scope,
            _construct_id(service),
            service_name=_name_of(service),
            vpc_endpoint_type="Interface",
            vpc_id=vpc_id,
            subnet_ids=subnet_ids,
            security_group_ids=[security_group_id],
            private_dns_enabled=True,
            policy_document=_for_own_account(),
        )


class GatewayEndpoint(ec2.CfnVPCEndpoint):
    """An endpoint that is a route in tables.

    only_own_account: whether it lets in principals of the account alone. Other workloads of a VPC may need more, such
    as package indexes in S3, which take no signature.
    """

    def __init__(
        self, scope: Construct, service: str, *, vpc_id: str, route_table_ids: list[str], only_own_account: bool
    ) -> None:
        super().__init__(
            scope,
            _construct_id(service),
            service_name=_name_of(service),
            vpc_endpoint_type="Gateway",
            vpc_id=vpc_id,
            route_table_ids=route_table_ids,
            policy_document=_for_own_account() if only_own_account else None,
        )


def _name_of(service: str) -> str:
    return f"com.amazonaws.{cdk.Aws.REGION}.{service}"


def _construct_id(service: str) -> str:
    return "".join(part.capitalize() for part in re.split("[.-]", service))


def _for_own_account() -> iam.PolicyDocument:
    """Return a policy that keeps foreign credentials from using the endpoint as a way out.

    The roles say what each caller may do. The weights' bucket may be another account's, so resources are not bound.
    """
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                principals=[iam.AnyPrincipal()],
                actions=["*"],
                resources=["*"],
                conditions={"StringEquals": {"aws:PrincipalAccount": cdk.Aws.ACCOUNT_ID}},
            )
        ]
    )

"""The security group of what runs a model: out by TLS, nothing in."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

_OUT = ec2.CfnSecurityGroup.EgressProperty(
    ip_protocol="tcp", from_port=443, to_port=443, cidr_ip="0.0.0.0/0", description="AWS, package indexes, the Hub"
)


class SecurityGroup(ec2.CfnSecurityGroup):
    """It lets TCP 443 out. An L1, because the L2 would describe each rule in another way."""

    def __init__(self, scope: Construct, construct_id: str, *, vpc_id: str) -> None:
        super().__init__(
            scope,
            construct_id,
            group_description="Out by TLS, nothing in",
            vpc_id=vpc_id,
            security_group_ingress=[],
            security_group_egress=[_OUT],
        )

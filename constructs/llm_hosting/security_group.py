"""Security groups: out by TLS for what opens connections, in by TLS for the VPC endpoints that it calls."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

_HTTPS = 443
_OUT = ec2.CfnSecurityGroup.EgressProperty(
    ip_protocol="tcp",
    from_port=_HTTPS,
    to_port=_HTTPS,
    cidr_ip="0.0.0.0/0",
    description="AWS, package indexes, the Hub",
)
# Without a rule EC2 adds one that lets everything out. This is the CDK's rule that lets nothing out.
_NOTHING_OUT = ec2.CfnSecurityGroup.EgressProperty(
    ip_protocol="icmp", from_port=252, to_port=86, cidr_ip="255.255.255.255/32", description="Nothing"
)


class SecurityGroup(ec2.CfnSecurityGroup):
    """It lets TCP 443 out. An L1, because the L2 would describe each rule in another way.

    callers: ids of groups that may open connections by TCP 443; then it lets nothing out.
    """

    def __init__(self, scope: Construct, construct_id: str, *, vpc_id: str, callers: Sequence[str] = ()) -> None:
        super().__init__(
            scope,
            construct_id,
            group_description="In by TLS from the deployment, nothing out" if callers else "Out by TLS, nothing in",
            vpc_id=vpc_id,
            security_group_ingress=[
                ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp",
                    from_port=_HTTPS,
                    to_port=_HTTPS,
                    source_security_group_id=each,
                    description="The deployment",
                )
                for each in callers
            ],
            security_group_egress=[_NOTHING_OUT if callers else _OUT],
        )

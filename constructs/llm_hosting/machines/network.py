"""The network of the machines: subnets with a route to the internet, and a security group that lets nothing in."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ..acknowledgement import acknowledge
from ..deployment.model import Vpc

_NO_FLOW_LOG = (
    "Its machines take no connection, and open those to AWS, the Hub and package indexes only; the functions log each "
    "request, and a flow log would bill for the same."
)
_OUT = ec2.CfnSecurityGroup.EgressProperty(
    ip_protocol="tcp", from_port=443, to_port=443, cidr_ip="0.0.0.0/0", description="AWS, package indexes, the Hub"
)


class MachineNetwork(Construct):
    """`subnet_ids`, which the machines take in turn, and `security_group_id`.

    has_public_addresses: whether machines have public addresses.
    given: the user's own network; None = a new VPC with two public subnets, no NAT gateway and no ingress.
    """

    def __init__(self, scope: Construct, construct_id: str, *, given: Vpc | None) -> None:
        super().__init__(scope, construct_id)
        self.has_public_addresses = given is None
        if given:
            vpc_id, self.subnet_ids = given.vpc_id, list(given.subnet_ids)
        else:
            vpc = self._create_vpc()
            vpc_id, self.subnet_ids = vpc.vpc_id, [subnet.subnet_id for subnet in vpc.public_subnets]
        group = ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            group_description="Out by TLS, nothing in",
            vpc_id=vpc_id,
            security_group_ingress=[],
            security_group_egress=[_OUT],
        )
        self.security_group_id = group.attr_group_id

    def _create_vpc(self) -> ec2.Vpc:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/24"),
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                # A machine's launch template asks for its address; nothing else in the subnet gets one.
                ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC, map_public_ip_on_launch=False)
            ],
            restrict_default_security_group=False,  # it would need a custom resource, and no machine is in that group
        )
        acknowledge(vpc, {"AwsSolutions-VPC7": _NO_FLOW_LOG})
        return vpc

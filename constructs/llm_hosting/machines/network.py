"""The network of the machines: subnets with a route to the internet, and a security group that lets nothing in."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ..acknowledgement import acknowledge
from ..security_group import SecurityGroup
from ..surroundings import Network

_NO_FLOW_LOG = (
    "Its machines take no connection, and open those to AWS, the Hub and package indexes only; a flow log would bill "
    "each gigabyte."
)


class MachineNetwork(Construct):
    """`subnet_ids`, which the machines take in turn, and `security_group_ids`.

    has_public_addresses: whether machines have public addresses.
    connected: what the machines' way to AWS and the internet depends on; None = nothing in this stack.
    network: a VPC that exists; None = a new VPC with two public subnets, no NAT gateway and no ingress.
    """

    def __init__(self, scope: Construct, construct_id: str, *, network: Network | None) -> None:
        super().__init__(scope, construct_id)
        network = network or self._create_vpc()
        self.subnet_ids, self.has_public_addresses = network.subnet_ids, network.is_public
        self.connected = network.connected
        self.security_group_ids = network.security_group_ids or [
            SecurityGroup(self, "SecurityGroup", vpc_id=network.vpc_id).attr_group_id
        ]

    def _create_vpc(self) -> Network:
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
        # The machines' default route is not waited for: it is made long before a machine has booted.
        return Network(vpc.vpc_id, [each.subnet_id for each in vpc.public_subnets], is_public=True, connected=None)

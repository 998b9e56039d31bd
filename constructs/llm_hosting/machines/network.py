"""The network of the machines: subnets with a route to the internet, and a security group that lets nothing in."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from ..acknowledgement import acknowledge
from ..deployment.settings.security import Vpc
from ..security_group import SecurityGroup
from ..surroundings import Surroundings

_NO_FLOW_LOG = (
    "Its machines take no connection, and open those to AWS, the Hub and package indexes only; the functions log each "
    "request, and a flow log would bill for the same."
)


class MachineNetwork(Construct):
    """`subnet_ids`, which the machines take in turn, and `security_group_id`.

    has_public_addresses: whether machines have public addresses.
    connected: what the machines' way to the internet depends on; None = nothing in this stack.
    given: the network that the deployment file names. Without it and without a VPC in `surroundings` there is a new
    VPC with two public subnets, no NAT gateway and no ingress.
    """

    def __init__(self, scope: Construct, construct_id: str, *, given: Vpc | None, surroundings: Surroundings) -> None:
        super().__init__(scope, construct_id)
        self.connected: IDependable | None = None
        if given:
            vpc_id, self.subnet_ids, self.has_public_addresses = given.vpc_id, list(given.subnet_ids), False
        elif surroundings.network:
            network = surroundings.network
            vpc_id, self.subnet_ids, self.has_public_addresses = network.vpc_id, network.subnet_ids, network.is_public
            self.connected = network.connected
        else:
            vpc = self._create_vpc()
            vpc_id, self.subnet_ids = vpc.vpc_id, [subnet.subnet_id for subnet in vpc.public_subnets]
            self.has_public_addresses = True
        self.security_group_id = SecurityGroup(self, "SecurityGroup", vpc_id=vpc_id).attr_group_id

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

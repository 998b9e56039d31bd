"""The network of `security.vpc`: the user's own VPC or one without a route to the internet, and its endpoints."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup

from ..acknowledgement import acknowledge
from ..catalog.service_endpoints import service_endpoints
from ..deployment.model import Deployment
from ..deployment.settings.vpc import Vpc
from ..resolution.aws_services import ZONES, interface_services, needed_services
from ..security_group import SecurityGroup
from ..surroundings import Network
from .service_endpoint import GatewayEndpoint, InterfaceEndpoint

_NO_FLOW_LOG = (
    "The VPC has no route to the internet, its endpoints take principals of this account only, and CloudTrail has the "
    "calls. A flow log would bill, and show addresses of these endpoints."
)


class ServiceNetwork(Construct):
    """The subnets, security groups and endpoints of a deployment. `network`: for the parts that stand in it."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: Deployment, vpc: Vpc) -> None:
        super().__init__(scope, construct_id)
        self._deployment, self._is_made = deployment, vpc.is_made
        if vpc.is_made:
            self._vpc_id, self._subnet_ids, tables = self._create_vpc()
        else:
            self._vpc_id, self._subnet_ids, tables = str(vpc.vpc_id), list(vpc.subnet_ids), list(vpc.route_table_ids)
        given = list(vpc.security_group_ids)
        calls_interfaces = vpc.makes_endpoints and bool(interface_services(deployment, "containers", "machines"))
        # Without a group here containers and machines make their own.
        model_groups = given or ([self._group("ModelGroup")] if calls_interfaces else [])
        function_groups = (given or [self._group("FunctionGroup")]) if vpc.functions else []
        callers = [*(model_groups if calls_interfaces else []), *function_groups]
        made = self._create_endpoints(tables, list(dict.fromkeys(callers))) if vpc.makes_endpoints else []
        self.network = Network(
            self._vpc_id,
            self._subnet_ids,
            is_public=False,
            connected=DependencyGroup(*made) if made else None,
            security_group_ids=model_groups,
            function_group_ids=function_groups,
        )

    def _create_vpc(self) -> tuple[str, list[str], list[str]]:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/22"),  # /24 for each zone: an instance takes several addresses
            max_azs=ZONES,
            nat_gateways=0,
            create_internet_gateway=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
            restrict_default_security_group=False,  # it would need a custom resource, and nothing is in that group
        )
        acknowledge(vpc, {"AwsSolutions-VPC7": _NO_FLOW_LOG})
        subnets = vpc.isolated_subnets
        return (
            vpc.vpc_id,
            [each.subnet_id for each in subnets],
            [each.route_table.route_table_id for each in subnets],
        )

    def _group(self, construct_id: str) -> str:
        return str(SecurityGroup(self, construct_id, vpc_id=self._vpc_id).attr_group_id)

    def _create_endpoints(self, route_table_ids: Sequence[str], callers: Sequence[str]) -> list[ec2.CfnVPCEndpoint]:
        interfaces = interface_services(self._deployment)
        made: list[ec2.CfnVPCEndpoint] = [
            GatewayEndpoint(
                self,
                service,
                vpc_id=self._vpc_id,
                route_table_ids=list(route_table_ids),
                only_own_account=self._is_made,
            )
            for service in service_endpoints().gateways
            if service in needed_services(self._deployment)
        ]
        if interfaces:
            group = SecurityGroup(self, "EndpointGroup", vpc_id=self._vpc_id, callers=callers).attr_group_id
            made += [
                InterfaceEndpoint(
                    self, service, vpc_id=self._vpc_id, subnet_ids=self._subnet_ids, security_group_id=group
                )
                for service in interfaces
            ]
        return made

"""Whether the user's own subnets let machines reach the package indexes."""

from collections.abc import Iterator
from typing import Any

from llm_hosting.deployment import Deployment
from llm_hosting.finding import Finding
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "security.vpc.subnet_ids"
_EVERYWHERE = "0.0.0.0/0"
_WAYS_OUT = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "LocalGatewayId", "CoreNetworkArn")
_FIX = "use subnets whose default route leads to a NAT gateway or a transit gateway"


def machine_network(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """The subnets exist in the VPC, and their default route leads out without a public address."""
    vpc, ec2 = deployment.security.vpc, account.clients("ec2")
    assert vpc
    found = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": vpc.subnet_ids}])["Subnets"]
    vpc_of = {subnet["SubnetId"]: subnet["VpcId"] for subnet in found}
    for subnet in vpc.subnet_ids:
        if vpc_of.get(subnet) != vpc.vpc_id:
            where = f"is in {vpc_of[subnet]}, not in {vpc.vpc_id}" if subnet in vpc_of else "does not exist"
            yield Finding(_FIELD, f"{subnet} {where} in {account.region}", "name subnets of security.vpc.vpc_id")
            continue
        route = _default_route(ec2, vpc.vpc_id, subnet)
        if route is None:
            problem = f"{subnet} has no route to the internet, from which a machine installs its packages"
            yield Finding(_FIELD, problem, _FIX)
        elif not any(route.get(way) for way in _WAYS_OUT):
            problem = f"{subnet} leads out by an internet gateway, and machines in security.vpc have no public address"
            yield Finding(_FIELD, problem, f"{_FIX}, or leave security.vpc out")


def _default_route(ec2: Any, vpc_id: str, subnet: str) -> dict[str, Any] | None:
    """Of the subnet's route table, or of the VPC's main one; None = there is none."""
    of_subnet = [{"Name": "association.subnet-id", "Values": [subnet]}]
    main = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
    tables = ec2.describe_route_tables(Filters=of_subnet)["RouteTables"]
    tables = tables or ec2.describe_route_tables(Filters=main)["RouteTables"]
    routes = (route for table in tables for route in table["Routes"])
    return next((route for route in routes if route.get("DestinationCidrBlock") == _EVERYWHERE), None)

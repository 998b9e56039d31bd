"""Checks that machines in the user's own subnets can reach the package indexes."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "security.vpc.subnet_ids"
_EVERYWHERE = "0.0.0.0/0"
_WAYS_OUT = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "LocalGatewayId", "CoreNetworkArn")
_FIX = "use subnets whose default route leads to a NAT gateway or a transit gateway"


def machine_network(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the subnets exist in the VPC, and that their default route needs no public address.

    A problem of a subnet that no machine uses, because there are more subnets than machines, is only a warning.
    """
    vpc, ec2 = deployment.security.vpc, account.clients("ec2")
    assert vpc
    found = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": vpc.subnet_ids}])["Subnets"]
    vpc_of = {subnet["SubnetId"]: subnet["VpcId"] for subnet in found}
    used = vpc.subnet_ids[: deployment.hosting.instance_count.max]
    for subnet in vpc.subnet_ids:
        if vpc_of.get(subnet) == vpc.vpc_id:
            finding = _way_out(subnet, _routes(ec2, vpc.vpc_id, subnet))
        else:
            where = f"is in {vpc_of[subnet]}, not in {vpc.vpc_id}" if subnet in vpc_of else "does not exist"
            finding = Finding(_FIELD, f"{subnet} {where} in {account.region}", "name subnets of security.vpc.vpc_id")
        if finding:
            yield finding if subnet in used or finding.level != "error" else replace(finding, level="warning")


def _way_out(subnet: str, routes: list[dict[str, Any]]) -> Finding | None:
    """Return the problem of the subnet's route to the internet; None = it has a route."""
    route = next((route for route in routes if route.get("DestinationCidrBlock") == _EVERYWHERE), None)
    if route is None:
        if any(map(_may_lead_out, routes)):
            problem = f"{subnet} has no default route, but other routes that may lead to the internet"
            return Finding(_FIELD, problem, level="unknown")
        return Finding(_FIELD, f"{subnet} has no route to the internet, from which machines install packages", _FIX)
    gateway = route.get("GatewayId", "")
    if route.get("State") == "blackhole":
        return Finding(_FIELD, f"the target of {subnet}'s default route is gone (State: blackhole)", _FIX)
    if gateway.startswith("igw-"):
        problem = f"{subnet} leads to an internet gateway, but machines in security.vpc have no public address"
        return Finding(_FIELD, problem, f"{_FIX}, or leave security.vpc out")
    if not any(route.get(way) for way in _WAYS_OUT):
        return Finding(
            _FIELD, f"{subnet} leads to {gateway}; it is not known whether that reaches the internet", level="unknown"
        )
    return None


def _may_lead_out(route: dict[str, Any]) -> bool:
    """Tell whether a route that is not the default one leads to public addresses, for example to half of them."""
    if destination := route.get("DestinationCidrBlock"):
        network = ip_network(destination)
        return network.prefixlen < 8 or not network.is_private  # no private range is larger than a /8
    return "DestinationPrefixListId" in route and not route.get("GatewayId", "").startswith("vpce-")  # S3 or DynamoDB


def _routes(ec2: Any, vpc_id: str, subnet: str) -> list[dict[str, Any]]:
    """Return the routes of the subnet's own route table, else those of the VPC's main table."""
    of_subnet = [{"Name": "association.subnet-id", "Values": [subnet]}]
    main = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
    tables = ec2.describe_route_tables(Filters=of_subnet)["RouteTables"]
    tables = tables or ec2.describe_route_tables(Filters=main)["RouteTables"]
    return [route for table in tables for route in table["Routes"]]

"""The routes of the user's own subnets, and whether they lead to the internet."""

from ipaddress import ip_network
from typing import Any, Literal

_EVERYWHERE = "0.0.0.0/0"
_WAYS_OUT = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "LocalGatewayId", "CoreNetworkArn")


def tables_of(ec2: Any, vpc_id: str, subnet: str) -> list[dict[str, Any]]:
    """Return the subnet's own route table, else the VPC's main table."""
    of_subnet = [{"Name": "association.subnet-id", "Values": [subnet]}]
    main = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
    found: list[dict[str, Any]] = ec2.describe_route_tables(Filters=of_subnet)["RouteTables"]
    return found or list(ec2.describe_route_tables(Filters=main)["RouteTables"])


def way_out(subnet: str, tables: list[dict[str, Any]], who: str) -> tuple[Literal["error", "unknown"], str] | None:
    """Return why a subnet does not lead to the internet, or may not; None = it does.

    who: what stands in the subnet, without public addresses.
    """
    routes = [route for table in tables for route in table["Routes"]]
    route = next((route for route in routes if route.get("DestinationCidrBlock") == _EVERYWHERE), None)
    if route is None:
        if any(map(_may_lead_out, routes)):
            return "unknown", f"{subnet} has no default route, but other routes that may lead to the internet"
        return "error", f"{subnet} has no route to the internet"
    gateway = route.get("GatewayId", "")
    if route.get("State") == "blackhole":
        return "error", f"the target of {subnet}'s default route is gone (State: blackhole)"
    if gateway.startswith("igw-"):
        return "error", f"{subnet} leads to an internet gateway, but {who} in security.vpc have no public address"
    if not any(route.get(way) for way in _WAYS_OUT):
        return "unknown", f"{subnet} leads to {gateway}; it is not known whether that reaches the internet"
    return None


def _may_lead_out(route: dict[str, Any]) -> bool:
    """Tell whether a route that is not the default one leads to public addresses, for example to half of them."""
    if destination := route.get("DestinationCidrBlock"):
        network = ip_network(destination)
        return network.prefixlen < 8 or not network.is_private  # no private range is larger than a /8
    return "DestinationPrefixListId" in route and not route.get("GatewayId", "").startswith("vpce-")  # S3 or DynamoDB

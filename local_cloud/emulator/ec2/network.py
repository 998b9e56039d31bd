"""Decides whether an instance reaches AWS: it needs a route out of its subnet and a rule that allows HTTPS."""

from typing import Any

from local_cloud.emulator.core import ministack

_ec2 = ministack.internals(
    "ministack.services.ec2",
    "_DEFAULT_IGW_ID",
    "_DEFAULT_RTB_ID",
    "_ensure_defaults_initialized",
    "_route_tables",
    "_security_groups",
    "_subnets",
    "_vpc_endpoints",
    "_vpcs",
)
_HTTPS = 443


def make_defaults() -> None:
    """Create this account and region's default VPC, with a route to its internet gateway, which MiniStack omits."""
    _ec2._ensure_defaults_initialized()
    routes = _ec2._route_tables[_ec2._DEFAULT_RTB_ID]["Routes"]
    if not any(route.get("DestinationCidrBlock") == "0.0.0.0/0" for route in routes):
        routes.append(
            {
                "DestinationCidrBlock": "0.0.0.0/0",
                "GatewayId": _ec2._DEFAULT_IGW_ID,
                "State": "active",
                "Origin": "CreateRoute",
            }
        )


def _put(request: dict[str, Any]) -> dict[str, Any]:
    """Create the network that `put_network` asks for, in place of the user's network on AWS."""
    vpc_id = request["vpc_id"]
    with ministack.scope(request["account"], request["region"]):
        _ec2._vpcs[vpc_id] = {"VpcId": vpc_id, "CidrBlock": "10.0.0.0/16", "State": "available", "IsDefault": False}
        for subnet_id in request["subnet_ids"]:
            _ec2._subnets[subnet_id] = {"SubnetId": subnet_id, "VpcId": vpc_id, "MapPublicIpOnLaunch": False}
        _ec2._route_tables[f"rtb-{vpc_id}"] = {
            "RouteTableId": f"rtb-{vpc_id}",
            "VpcId": vpc_id,
            "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-0"}],
            "Associations": [{"Main": True}],
        }
    return {}


def install() -> None:
    ministack.register_command("POST", "/_slipway/network", _put)


def subnet_assigns_public_address(subnet_id: str) -> bool:
    return bool(_ec2._subnets[subnet_id].get("MapPublicIpOnLaunch"))


def reaches_aws(subnet_id: str, group_ids: list[str], has_public_address: bool) -> bool:
    """Whether HTTPS reaches AWS: through an internet gateway, a NAT gateway, or interface endpoints of the VPC."""
    vpc = _ec2._subnets[subnet_id]["VpcId"]
    targets = _default_routes(subnet_id, vpc)
    has_route = (
        any(target.startswith("nat-") for target in targets)
        or (has_public_address and any(target.startswith("igw-") for target in targets))
        or any(each["VpcId"] == vpc for each in _ec2._vpc_endpoints.values())
    )
    return has_route and any(_lets_https_out(_ec2._security_groups[group]) for group in group_ids)


def _default_routes(subnet_id: str, vpc: str) -> list[str]:
    tables = [table for table in _ec2._route_tables.values() if table["VpcId"] == vpc]
    own = [table for table in tables if any(each.get("SubnetId") == subnet_id for each in table["Associations"])]
    main = [table for table in tables if any(each.get("Main") for each in table["Associations"])]
    routes = [route for table in own or main for route in table["Routes"]]
    return [
        str(route.get("GatewayId") or route.get("NatGatewayId") or "")
        for route in routes
        if route.get("DestinationCidrBlock") == "0.0.0.0/0"
    ]


def _lets_https_out(group: dict[str, Any]) -> bool:
    return any(
        str(rule["IpProtocol"]) == "-1"
        or (str(rule["IpProtocol"]) in ("tcp", "6") and int(rule["FromPort"]) <= _HTTPS <= int(rule["ToPort"]))
        for rule in group["IpPermissionsEgress"]
    )

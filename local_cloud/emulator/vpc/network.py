"""Decides what a subnet reaches: AWS's services by endpoints of the VPC or a route out, the internet by a route."""

from dataclasses import dataclass
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
    "_vpce_fields_xml",
    "_vpcs",
)
_HTTPS = 443


@dataclass(frozen=True)
class Place:
    """Where a function, a container or a machine stands. is_isolated: a container that reaches nothing at all."""

    subnet_ids: tuple[str, ...]
    group_ids: tuple[str, ...]
    has_public_address: bool = False
    is_isolated: bool = False

    @property
    def reaches_internet(self) -> bool:
        """Whether HTTPS leads out of every subnet through an internet gateway or a NAT gateway."""
        return not self.is_isolated and all(
            _lets_out(self.group_ids) and _has_way_out(each, self.has_public_address) for each in self.subnet_ids
        )

    def way_to(self, service: str) -> tuple[bool, list[dict[str, Any]]]:
        """Whether every subnet leads to a service, and the endpoints on the way, whose policies must allow a call.

        service: the end of its endpoint's name, such as "sagemaker.api".
        """
        if self.is_isolated or not all(each in _ec2._subnets for each in self.subnet_ids):
            return False, []
        endpoints = [_endpoint(service, each, self.group_ids) for each in self.subnet_ids]
        leads = _lets_out(self.group_ids) and all(
            found or _has_way_out(subnet, self.has_public_address)
            for found, subnet in zip(endpoints, self.subnet_ids, strict=True)
        )
        return leads, [each for each in endpoints if each]


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
    vpc_id, tables = request["vpc_id"], request["route_table_ids"] or [f"rtb-{request['vpc_id']}"]
    way_out = [{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-0"}] if request["leads_out"] else []
    https = {"IpProtocol": "tcp", "FromPort": _HTTPS, "ToPort": _HTTPS, "UserIdGroupPairs": []}
    with ministack.scope(request["account"], request["region"]):
        _ec2._vpcs[vpc_id] = {
            "VpcId": vpc_id,
            "CidrBlock": "10.0.0.0/16",
            "State": "available",
            "IsDefault": False,
            "EnableDnsHostnames": True,
        }
        for number, subnet_id in enumerate(request["subnet_ids"]):
            _ec2._subnets[subnet_id] = {
                "SubnetId": subnet_id,
                "VpcId": vpc_id,
                "AvailabilityZone": f"{request['region']}{'abcdef'[number % 6]}",
                "MapPublicIpOnLaunch": False,
            }
        for group_id in request["security_group_ids"]:
            _ec2._security_groups[group_id] = {
                "GroupId": group_id,
                "GroupName": group_id,
                "Description": group_id,
                "VpcId": vpc_id,
                "OwnerId": request["account"],
                "IpPermissions": [],
                "IpPermissionsEgress": [https | {"IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
            }
        for number, table_id in enumerate(tables):
            own = [{"SubnetId": each} for each in request["subnet_ids"][number :: len(tables)]]
            main = [{"Main": True}] if number == 0 else []
            # Each has an id, by which MiniStack looks for the one to delete.
            linked = [{"RouteTableAssociationId": f"{table_id}-{at}"} | each for at, each in enumerate([*own, *main])]
            _ec2._route_tables[table_id] = {
                "RouteTableId": table_id,
                "VpcId": vpc_id,
                "Routes": list(way_out),
                # Each has an id, by which MiniStack looks for the one to delete.
                "Associations": [
                    {"RouteTableAssociationId": f"{table_id}-{at}"} | each for at, each in enumerate(linked)
                ],
            }
    return {}


def _describe_names_and_groups() -> None:
    """Show what MiniStack keeps of an interface endpoint and does not show."""
    describe = _ec2._vpce_fields_xml

    def fields(endpoint: dict[str, Any], tag: str = "item") -> str:
        groups = "".join(f"<item><groupId>{each}</groupId></item>" for each in endpoint.get("SecurityGroupIds", []))
        more = f"<groupSet>{groups}</groupSet>"
        if endpoint.get("PrivateDnsEnabled"):
            more += "<privateDnsEnabled>true</privateDnsEnabled>"
        return str(describe(endpoint, tag)).removesuffix(f"</{tag}>") + f"{more}</{tag}>"

    _ec2._vpce_fields_xml = fields


def install() -> None:
    _describe_names_and_groups()
    ministack.register_command("POST", "/_slipway/network", _put)


def subnet_assigns_public_address(subnet_id: str) -> bool:
    return bool(_ec2._subnets[subnet_id].get("MapPublicIpOnLaunch"))


def check(subnet_ids: list[str], group_ids: list[str]) -> None:
    """Refuse subnets and security groups that do not exist, or are of several VPCs; raises ValueError."""
    for store, ids, words in (
        (_ec2._subnets, subnet_ids, "subnet"),
        (_ec2._security_groups, group_ids, "security group"),
    ):
        if missing := [each for each in ids if each not in store]:
            raise ValueError(f"The {words} ID '{missing[0]}' does not exist")
    found = {_ec2._subnets[each]["VpcId"] for each in subnet_ids} | {
        _ec2._security_groups[each]["VpcId"] for each in group_ids
    }
    if len(found) > 1:
        raise ValueError(f"Subnets and security groups must be of one VPC, not of {', '.join(sorted(found))}")


def reaches_aws(subnet_id: str, group_ids: list[str], has_public_address: bool) -> bool:
    """Whether HTTPS reaches anything of AWS: through a route out, or endpoints of the VPC."""
    vpc = _ec2._subnets[subnet_id]["VpcId"]
    has_endpoint = any(each["VpcId"] == vpc for each in _ec2._vpc_endpoints.values())
    return (has_endpoint or _has_way_out(subnet_id, has_public_address)) and _lets_out(tuple(group_ids))


def _has_way_out(subnet_id: str, has_public_address: bool) -> bool:
    targets = _default_routes(subnet_id)
    has_gateway = has_public_address and any(target.startswith("igw-") for target in targets)
    return has_gateway or any(target.startswith("nat-") for target in targets)


def _lets_out(group_ids: tuple[str, ...]) -> bool:
    return any(_lets_https_through(_ec2._security_groups[group]["IpPermissionsEgress"]) for group in group_ids)


def _endpoint(service: str, subnet_id: str, group_ids: tuple[str, ...]) -> dict[str, Any] | None:
    """The endpoint by which the subnet's callers with these groups reach the service."""
    vpc_id = _ec2._subnets[subnet_id]["VpcId"]
    tables = {table["RouteTableId"] for table in _tables(subnet_id)}
    for each in _ec2._vpc_endpoints.values():
        if each["VpcId"] != vpc_id or each["ServiceName"] != f"com.amazonaws.{ministack.region()}.{service}":
            continue
        is_there = (
            tables & set(each["RouteTableIds"]) if each["VpcEndpointType"] == "Gateway" else _answers(each, group_ids)
        )
        if is_there:
            found: dict[str, Any] = each
            return found
    return None


def _answers(endpoint: dict[str, Any], group_ids: tuple[str, ...]) -> bool:
    """Whether the service's name leads to an interface endpoint, and the endpoint's groups let the caller in."""
    vpc = _ec2._vpcs[endpoint["VpcId"]]
    named = endpoint.get("PrivateDnsEnabled") and vpc.get("EnableDnsSupport", True) and vpc.get("EnableDnsHostnames")
    return bool(named) and any(
        _lets_https_through([rule])
        and (rule["IpRanges"] or any(pair["GroupId"] in group_ids for pair in rule["UserIdGroupPairs"]))
        for group in endpoint.get("SecurityGroupIds", [])
        for rule in _ec2._security_groups[group]["IpPermissions"]
    )


def _tables(subnet_id: str) -> list[dict[str, Any]]:
    """The route tables of the subnet: its own, otherwise the VPC's main table."""
    vpc = _ec2._subnets[subnet_id]["VpcId"]
    tables = [table for table in _ec2._route_tables.values() if table["VpcId"] == vpc]
    own = [table for table in tables if any(each.get("SubnetId") == subnet_id for each in table["Associations"])]
    return own or [table for table in tables if any(each.get("Main") for each in table["Associations"])]


def _default_routes(subnet_id: str) -> list[str]:
    return [
        str(route.get("GatewayId") or route.get("NatGatewayId") or "")
        for table in _tables(subnet_id)
        for route in table["Routes"]
        if route.get("DestinationCidrBlock") == "0.0.0.0/0"
    ]


def _lets_https_through(rules: list[dict[str, Any]]) -> bool:
    return any(
        str(rule["IpProtocol"]) == "-1"
        or (str(rule["IpProtocol"]) in ("tcp", "6") and int(rule["FromPort"]) <= _HTTPS <= int(rule["ToPort"]))
        for rule in rules
    )

"""Checks the user's own VPC: subnets, zones, DNS, and a way to each AWS service that the deployment calls."""

from collections.abc import Iterator
from typing import Any

from llm_hosting.catalog.service_endpoints import service_endpoints
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.vpc import Vpc
from llm_hosting.preflight.report import Report
from llm_hosting.resolution.aws_services import interface_services, needed_services
from slipway.account.account import Account
from slipway.account.instance_type_offered import zones_with
from slipway.account.subnet_routes import tables_of, way_out

_SUBNETS = "security.vpc.subnet_ids"
_STACK = "aws:cloudformation:stack-name"  # a tag that CloudFormation sets on its resources


def service_network(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the VPC has what the deployment expects of it, and not already what the stack would make."""
    vpc, ec2 = deployment.security.vpc, account.clients("ec2")
    assert vpc
    assert vpc.vpc_id
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc.vpc_id]}])["Subnets"]
    zone_of = {each["SubnetId"]: each["AvailabilityZone"] for each in subnets}
    if missing := [each for each in vpc.subnet_ids if each not in zone_of]:
        problem = f"{', '.join(missing)} is not in {vpc.vpc_id} in {account.region}"
        yield Finding(_SUBNETS, problem, "name subnets of security.vpc.vpc_id")
        return
    if not deployment.hosting.runs_on_machines:
        yield from _zones(deployment, ec2, sorted({zone_of[each] for each in vpc.subnet_ids}))
    if vpc.service_endpoints and interface_services(deployment):
        yield from _one_of_each_zone([zone_of[each] for each in vpc.subnet_ids])
    tables = {each: tables_of(ec2, vpc.vpc_id, each) for each in vpc.subnet_ids}
    endpoints = [each for each in ec2.describe_vpc_endpoints()["VpcEndpoints"] if each["VpcId"] == vpc.vpc_id]
    if interface_services(deployment):
        yield from _names(vpc.vpc_id, ec2, must=vpc.service_endpoints or bool(endpoints))
    if vpc.service_endpoints:
        yield from _tables(vpc, tables)
        yield from _conflicts(deployment, report.name, endpoints)
    else:
        yield from _ways(deployment, tables, endpoints)
    if _loads_from_internet(deployment):
        yield from _internet(tables)


def _loads_from_internet(deployment: Deployment) -> bool:
    """Whether containers load the model or packages from the internet; machines have a check of their own."""
    loads = deployment.serving.handler or (not deployment.model.weights and deployment.serving.engine != "custom")
    return bool(loads) and not deployment.hosting.runs_on_machines


def _zones(deployment: Deployment, ec2: Any, zones: list[str]) -> Iterator[Finding]:
    if len(zones) == 1:
        problem = f"are all in {zones[0]}, and SageMaker asks for two zones"
        yield Finding(_SUBNETS, problem, "name a subnet of another zone, too")
    for name in deployment.hosting.instance_types:
        offered = zones_with(ec2, name.removeprefix("ml."))
        if offered and not set(zones) & set(offered):
            fix = f"name subnets in {', '.join(offered)}"
            yield Finding(_SUBNETS, f"are in {', '.join(zones)}, where EC2 has no {name.removeprefix('ml.')}", fix)


def _one_of_each_zone(zones: list[str]) -> Iterator[Finding]:
    if twice := sorted({each for each in zones if zones.count(each) > 1}):
        problem = f"has several in {', '.join(twice)}, and AWS makes an interface endpoint in one subnet of each zone"
        fix = "name one of each zone, or make the endpoints yourself and set security.vpc.service_endpoints: false"
        yield Finding(_SUBNETS, problem, fix)


def _names(vpc_id: str, ec2: Any, *, must: bool) -> Iterator[Finding]:
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        found = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)
        if must and not found[f"{attribute[0].upper()}{attribute[1:]}"]["Value"]:
            problem = f"{vpc_id} has {attribute} off, without which names do not lead to interface endpoints"
            yield Finding("security.vpc.vpc_id", problem, "turn it on (ModifyVpcAttribute)")


def _tables(vpc: Vpc, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    used = {table["RouteTableId"]: subnet for subnet, found in tables.items() for table in found}
    for table, subnet in used.items():
        if table not in vpc.route_table_ids:
            problem = f"lacks {table}, the route table of {subnet}"
            yield Finding("security.vpc.route_table_ids", problem, "add it, so that S3 and DynamoDB are reached")


def _conflicts(deployment: Deployment, stack: str, endpoints: list[dict[str, Any]]) -> Iterator[Finding]:
    """Name endpoints that are there already: AWS refuses a second private name, and a second route of a gateway."""
    there = {
        _service(each)
        for each in endpoints
        if stack not in {tag["Value"] for tag in each.get("Tags", []) if tag["Key"] == _STACK}
    }
    if found := [each for each in needed_services(deployment) if each in there]:
        problem = f"true, but the VPC has endpoints of {', '.join(found)} already, and AWS refuses a second one"
        fix = "use false, and let their security groups take TCP 443 from security.vpc.security_group_ids"
        yield Finding("security.vpc.service_endpoints", problem, fix)


def _ways(
    deployment: Deployment, tables: dict[str, list[dict[str, Any]]], endpoints: list[dict[str, Any]]
) -> Iterator[Finding]:
    """Name each service to which neither an endpoint nor a route leads."""
    closed = {subnet: found for subnet, each in tables.items() if (found := way_out(subnet, each, "containers"))}
    lacking = {subnet: _unreached(deployment, tables[subnet], endpoints) for subnet in closed}
    for subnet, services in lacking.items():
        level, problem = closed[subnet]
        if services and level == "unknown":
            yield Finding(_SUBNETS, f"{problem}, and it has no endpoints of {', '.join(services)}", level="unknown")
        elif services:
            fix = "make these endpoints, or set security.vpc.service_endpoints: true"
            yield Finding(_SUBNETS, f"{problem}, and no endpoints of {', '.join(services)}", fix)


def _unreached(deployment: Deployment, tables: list[dict[str, Any]], endpoints: list[dict[str, Any]]) -> list[str]:
    ids, gateways = {table["RouteTableId"] for table in tables}, service_endpoints().gateways

    def leads(service: str) -> bool:
        return any(
            _service(each) == service
            and each["State"].lower() == "available"
            and (
                each.get("PrivateDnsEnabled")
                if each["VpcEndpointType"] == "Interface" and service not in gateways
                else each["VpcEndpointType"] == "Interface" or bool(ids & set(each.get("RouteTableIds", [])))
            )
            for each in endpoints
        )

    return [each for each in needed_services(deployment) if not leads(each)]


def _internet(tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    for subnet, each in tables.items():
        if found := way_out(subnet, each, "containers"):
            level, problem = found
            fix = "set model.weights, or use subnets whose default route leads to a NAT gateway or a transit gateway"
            if level == "error":
                yield Finding(_SUBNETS, f"{problem}, from which the container loads the model or packages", fix)
            else:
                yield Finding(_SUBNETS, problem, level="unknown")


def _service(endpoint: dict[str, Any]) -> str:
    """Return the end of an endpoint's name: `com.amazonaws.<region>.sagemaker.api`."""
    return str(endpoint["ServiceName"]).split(".", 3)[-1]

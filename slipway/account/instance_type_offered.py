"""Checks that EC2 offers the machines' instance type in their availability zones."""

from collections.abc import Iterator
from typing import Any

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account

_FIELD = "hosting.instance_type"
_OWN_SUBNETS = 2  # subnets of a VPC that the stack makes


def instance_type_offered(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Refuse a zone without the type: the launch of a machine there fails, and so does the deploy."""
    name, ec2 = deployment.hosting.instance_types[0], account.clients("ec2")
    offered = zones_with(ec2, name)
    if not offered:
        yield Finding(_FIELD, f"EC2 has no {name} in {account.region}", "use another type, or another region")
        return
    if missing := [zone for zone in _zones(deployment, ec2) if zone not in offered]:
        fix = f"use another type, or security.vpc with subnets in {', '.join(offered)}"
        yield Finding(_FIELD, f"EC2 has no {name} in {', '.join(missing)}, where the machines would run", fix)


def zones_with(ec2: Any, name: str) -> list[str]:
    """Return the zones of the region in which EC2 offers the type."""
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [name]}]
    )
    return sorted({each["Location"] for page in pages for each in page["InstanceTypeOfferings"]})


def _zones(deployment: Deployment, ec2: Any) -> list[str]:
    """Return the machines' availability zones. Machines take the subnets in turn."""
    machines = deployment.hosting.instance_count.max
    if vpc := deployment.security.vpc:
        used = vpc.subnet_ids[:machines]
        subnets = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": used}])["Subnets"]
        return sorted({subnet["AvailabilityZone"] for subnet in subnets})
    # Fn::GetAZs returns the zones with a default subnet, or all zones if none has one (CloudFormation User Guide).
    subnets = ec2.describe_subnets(Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
    zones = {subnet["AvailabilityZone"] for subnet in subnets}
    if not zones:
        zones = {zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]}
    return sorted(zones)[: min(machines, _OWN_SUBNETS)]

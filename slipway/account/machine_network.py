"""Checks that machines in the user's own subnets can reach the package indexes."""

from collections.abc import Iterator
from dataclasses import replace

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.account.subnet_routes import tables_of, way_out

_FIELD = "security.vpc.subnet_ids"
_FIX = "use subnets whose default route leads to a NAT gateway or a transit gateway"


def machine_network(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the subnets exist in the VPC, and that their default route needs no public address.

    A problem of a subnet that no machine uses, because there are more subnets than machines, is only a warning.
    """
    vpc, ec2 = deployment.security.vpc, account.clients("ec2")
    assert vpc
    assert vpc.vpc_id
    found = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": vpc.subnet_ids}])["Subnets"]
    vpc_of = {subnet["SubnetId"]: subnet["VpcId"] for subnet in found}
    used = vpc.subnet_ids[: deployment.hosting.instance_count.max]
    for subnet in vpc.subnet_ids:
        if vpc_of.get(subnet) == vpc.vpc_id:
            finding = _problem(subnet, way_out(subnet, tables_of(ec2, vpc.vpc_id, subnet), "machines"))
        else:
            where = f"is in {vpc_of[subnet]}, not in {vpc.vpc_id}" if subnet in vpc_of else "does not exist"
            finding = Finding(_FIELD, f"{subnet} {where} in {account.region}", "name subnets of security.vpc.vpc_id")
        if finding:
            yield finding if subnet in used or finding.level != "error" else replace(finding, level="warning")


def _problem(subnet: str, found: tuple[str, str] | None) -> Finding | None:
    if found is None:
        return None
    level, problem = found
    if level == "unknown":
        return Finding(_FIELD, problem, level="unknown")
    if problem.endswith("no route to the internet"):
        return Finding(_FIELD, f"{problem}, from which machines install packages", _FIX)
    return Finding(_FIELD, problem, _FIX)

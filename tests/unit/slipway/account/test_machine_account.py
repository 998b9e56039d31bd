"""What `doctor` finds about machines in accounts unlike the local cloud's, by answers of botocore's shapes."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account
from slipway.account.machine_network import machine_network
from slipway.account.volume_key import volume_key
from slipway.account.vpc_quota import vpc_quota
from support.deployments.good_one import ON_EC2, deployment

VPC, FIRST, SECOND = "vpc-0a1b2c3d", "subnet-0a1b2c3d", "subnet-0a1b2c3e"
KEY = "arn:aws:kms:eu-west-3:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
LOCAL = {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"}
Answer = tuple[str, str, dict[str, Any]]  # service, operation, answer


def asked(check: Any, *answers: Answer, subnets: tuple[str, ...] = ()) -> list[Finding]:
    """The findings about a machine, with these answers in their order for each service."""
    keys = {"region_name": "eu-west-3", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    clients = {name: boto3.client(name, **keys) for name in ("ec2", "kms", "service-quotas", "sts")}
    stubbers = {name: Stubber(client) for name, client in clients.items()}
    for service, operation, answer in answers:
        stubbers[service].add_response(operation, answer)
    for stubber in stubbers.values():
        stubber.activate()
    changes = ON_EC2 | ({"security": {"vpc": {"vpc_id": VPC, "subnet_ids": list(subnets)}}} if subnets else {})
    found = list(check(deployment(changes), unreadable("gpt2-ec2", []), Account(lambda service: clients[service])))
    for stubber in stubbers.values():
        stubber.assert_no_pending_responses()
    return found


def of_subnets(*subnets: str) -> Answer:
    return "ec2", "describe_subnets", {"Subnets": [{"SubnetId": each, "VpcId": VPC} for each in subnets]}


def of_routes(*routes: dict[str, Any]) -> Answer:
    return "ec2", "describe_route_tables", {"RouteTables": [{"Routes": [LOCAL, *routes]}]}


def to(destination: str, **target: str) -> dict[str, Any]:
    return {"DestinationCidrBlock": destination, "State": "active", **target}


FIREWALL, HALVES = to("0.0.0.0/0", GatewayId="vpce-0a1b"), [to(f"{n}.0.0.0/1", NatGatewayId="nat-1") for n in (0, 128)]
PREFIXES = {"DestinationPrefixListId": "pl-1", "TransitGatewayId": "tgw-1"}
ENDPOINT = {"DestinationPrefixListId": "pl-2", "GatewayId": "vpce-0a1c"}


@pytest.mark.parametrize(
    ("routes", "level", "says"),
    [
        ([to("0.0.0.0/0", NatGatewayId="nat-1")], None, ""),
        (
            [to("0.0.0.0/0", NatGatewayId="nat-1", State="blackhole")],
            "error",
            "default route is gone",
        ),
        ([to("0.0.0.0/0", GatewayId="igw-1")], "error", "leads to an internet gateway"),
        ([FIREWALL], "unknown", "leads to vpce-0a1b; it is not known whether that reaches the internet"),
        ([to("0.0.0.0/0", GatewayId="vgw-1")], "unknown", "leads to vgw-1"),
        (HALVES, "unknown", "has no default route, but other routes that may lead"),
        ([PREFIXES], "unknown", "has no default route, but other routes that may lead"),
        ([ENDPOINT, to("10.1.0.0/16", VpcPeeringConnectionId="pcx-1")], "error", "has no route to the internet"),
    ],
    ids=["NAT", "gone", "internet", "firewall", "VPN", "halves", "prefix list", "endpoint and peer"],
)
def test_a_subnet_is_refused_only_where_its_routes_lead_nowhere(
    routes: list[Any], level: str | None, says: str
) -> None:
    found = asked(machine_network, of_subnets(FIRST), of_routes(*routes), subnets=(FIRST,))
    assert [each.level for each in found] == ([level] if level else [])
    assert all(says in each.message for each in found)


def test_a_subnet_that_no_machine_takes_is_warned_of() -> None:
    ways = (of_routes(to("0.0.0.0/0", NatGatewayId="nat-1")), of_routes())
    (found,) = asked(machine_network, of_subnets(FIRST, SECOND), *ways, subnets=(FIRST, SECOND))
    assert (found.level, SECOND in found.problem) == ("warning", True)


@pytest.mark.parametrize("key", ["alias/aws/ebs", "arn:aws:kms:eu-west-3:111122223333:alias/aws/ebs"])
def test_volumes_under_the_key_of_aws_pass(key: str) -> None:
    assert asked(volume_key, ("ec2", "get_ebs_default_kms_key_id", {"KmsKeyId": key})) == []


@pytest.mark.parametrize("manager", ["CUSTOMER", "AWS"])
def test_a_default_key_of_the_accounts_own_keeps_machines_from_later_starts(manager: str) -> None:
    metadata = {"KeyId": KEY.rpartition("/")[2], "Arn": KEY, "KeyManager": manager}
    key: Answer = ("ec2", "get_ebs_default_kms_key_id", {"KmsKeyId": KEY})
    found = asked(volume_key, key, ("kms", "describe_key", {"KeyMetadata": metadata}))
    told = [(each.level, each.field, each.fix) for each in found]
    own = [("error", "hosting.volume_kms_key_arn", f"set it to {KEY} or another key")]
    assert told == (own if manager == "CUSTOMER" else [])


@pytest.mark.parametrize(("stack", "count"), [("gpt2-ec2", 0), ("another", 1)])
def test_the_vpc_that_the_stack_has_by_now_needs_no_room(stack: str, count: int) -> None:
    tagged = {"VpcId": VPC, "Tags": [{"Key": "aws:cloudformation:stack-name", "Value": stack}]}
    vpcs: Answer = ("ec2", "describe_vpcs", {"Vpcs": [{"VpcId": "vpc-1"}, tagged]})
    quota: Answer = ("service-quotas", "get_service_quota", {"Quota": {"Value": 2.0}})
    caller: list[Answer] = [("sts", "get_caller_identity", {"Account": "111122223333"})] * count
    found = asked(vpc_quota, vpcs, quota, *caller)
    assert [each.field for each in found] == ["security.vpc"] * count

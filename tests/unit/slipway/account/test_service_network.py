"""What `doctor` finds about the user's own VPC, by answers of botocore's shapes."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account
from slipway.account.service_network import service_network
from support.deployments.good_one import deployment

REGION, VPC, NAME = "eu-west-3", "vpc-0a1b2c3d", "chat"
FIRST, SECOND, TABLE = "subnet-0a1b2c3d", "subnet-0a1b2c3e", "rtb-0a1b2c3d"
SUBNETS = {FIRST: f"{REGION}a", SECOND: f"{REGION}b"}
NAT = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"}
VPN = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "vgw-1", "State": "active"}
WEIGHTS = {"model": {"weights": "s3://a-bucket/a-model/"}}


def gateway(service: str, *tables: str) -> dict[str, Any]:
    return endpoint(service, VpcEndpointType="Gateway", RouteTableIds=list(tables))


def endpoint(service: str, **members: Any) -> dict[str, Any]:
    name = f"com.amazonaws.{REGION}.{service}"
    known = {"VpcId": VPC, "ServiceName": name, "VpcEndpointType": "Interface", "State": "available"}
    return {**known, "PrivateDnsEnabled": True, **members}


INTERFACES = [endpoint(each) for each in ("sagemaker.runtime", "sagemaker.api", "sqs", "events")]
GATEWAYS = [gateway("s3", TABLE), gateway("dynamodb", TABLE)]


def asked(
    changes: dict[str, Any] | None = None,
    *,
    subnets: dict[str, str] = SUBNETS,
    offered: tuple[str, ...] = (f"{REGION}a", f"{REGION}c"),
    routes: tuple[dict[str, Any], ...] = (),
    endpoints: list[dict[str, Any]] | None = None,
    hostnames: bool = True,
    **vpc: Any,
) -> list[Finding]:
    """Return the findings about a VPC with these subnets and their zones, and with one route table."""
    ec2 = boto3.client("ec2", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b")
    table = {"RouteTableId": TABLE, "Routes": list(routes)}
    answers: list[tuple[str, dict[str, Any]]] = [
        ("describe_subnets", {"Subnets": [{"SubnetId": k, "AvailabilityZone": v} for k, v in subnets.items()]}),
        ("describe_instance_type_offerings", {"InstanceTypeOfferings": [{"Location": each} for each in offered]}),
        *[("describe_route_tables", {"RouteTables": [table]})] * 2,
        ("describe_vpc_endpoints", {"VpcEndpoints": endpoints or []}),
        ("describe_vpc_attribute", {"EnableDnsSupport": {"Value": True}}),
        ("describe_vpc_attribute", {"EnableDnsHostnames": {"Value": hostnames}}),
    ]
    network = {"vpc_id": VPC, "subnet_ids": [FIRST, SECOND], **vpc}
    with Stubber(ec2) as stubber:
        for operation, answer in answers:
            stubber.add_response(operation, answer)
        settings = deployment((WEIGHTS if changes is None else changes) | {"security": {"vpc": network}})
        return list(service_network(settings, unreadable(NAME, []), Account(lambda _: ec2)))


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(each.level, each.field, each.problem) for each in findings]


@pytest.mark.parametrize(
    ("endpoints", "routes"),
    [(GATEWAYS[:1], ()), ([endpoint("s3", PrivateDnsEnabled=False)], ()), ([], (NAT,))],
    ids=["gateway", "interface", "NAT"],
)
def test_containers_need_a_way_to_s3(endpoints: list[Any], routes: tuple[Any, ...]) -> None:
    assert asked(endpoints=endpoints, routes=routes) == []


def test_each_service_without_a_way_is_named() -> None:
    found = asked(functions=True, endpoints=[*INTERFACES[:3], GATEWAYS[0]])
    assert told(found) == [
        (
            "error",
            "security.vpc.subnet_ids",
            f"{each} has no route to the internet, and no endpoints of dynamodb, events",
        )
        for each in SUBNETS
    ]
    assert "service_endpoints: true" in found[0].fix
    assert asked(functions=True, endpoints=[*INTERFACES, *GATEWAYS]) == []


@pytest.mark.parametrize(
    "closed",
    [endpoint("sqs", PrivateDnsEnabled=False), endpoint("sqs", State="pending"), endpoint("sqs", VpcId="vpc-0a1b2c3e")],
    ids=["without a name", "not yet there", "in another VPC"],
)
def test_an_endpoint_that_takes_no_call_does_not_count(closed: dict[str, Any]) -> None:
    others = [each for each in [*INTERFACES, *GATEWAYS] if not each["ServiceName"].endswith("sqs")]
    found = asked(functions=True, endpoints=[*others, closed])
    assert {each.problem.rpartition(" ")[2] for each in found} == {"sqs"}


def test_a_gateway_counts_on_its_route_tables_only() -> None:
    assert len(asked(endpoints=[gateway("s3", "rtb-0a1b2c3e")])) == 2


def test_a_route_that_may_lead_out_is_a_question() -> None:
    assert {each.level for each in asked(routes=(VPN,))} == {"unknown"}


def test_a_model_from_the_hub_needs_a_route_to_the_internet() -> None:
    found = asked({}, endpoints=GATEWAYS)
    assert {each.level for each in found} == {"error"}
    assert all("from which the container loads the model or packages" in each.problem for each in found)
    assert asked({}, routes=(NAT,)) == []


def test_private_names_need_the_attributes_of_the_vpc() -> None:
    found = asked(functions=True, endpoints=[*INTERFACES, *GATEWAYS], hostnames=False)
    assert [each.field for each in found] == ["security.vpc.vpc_id"]
    assert "enableDnsHostnames off" in found[0].problem
    assert asked(functions=True, routes=(NAT,), hostnames=False) == [], "a NAT gateway needs no private names"


def test_two_zones_are_needed_and_one_of_them_with_the_type() -> None:
    one = asked(endpoints=GATEWAYS, subnets={FIRST: f"{REGION}a", SECOND: f"{REGION}a"})
    assert [each.problem for each in one] == [f"are all in {REGION}a, and SageMaker asks for two zones"]
    (elsewhere,) = asked(endpoints=GATEWAYS, offered=(f"{REGION}c",))
    assert (elsewhere.problem, elsewhere.fix) == (
        f"are in {REGION}a, {REGION}b, where EC2 has no g6.2xlarge",
        f"name subnets in {REGION}c",
    )
    assert asked(endpoints=GATEWAYS, offered=()) == [], "EC2 may lack a type of SageMaker's"


def test_a_subnet_of_another_vpc_is_refused() -> None:
    (found,) = asked(subnets={FIRST: f"{REGION}a"})
    assert found.problem == f"{SECOND} is not in {VPC} in {REGION}"


def test_endpoints_that_are_there_already_are_not_made_again() -> None:
    makes: dict[str, Any] = {"service_endpoints": True, "route_table_ids": [TABLE]}
    (found,) = asked(**makes, functions=True, endpoints=[INTERFACES[2], GATEWAYS[0]])
    assert found.field == "security.vpc.service_endpoints"
    assert "has endpoints of s3, sqs already" in found.problem
    tags = [{"Key": "aws:cloudformation:stack-name", "Value": NAME}]
    assert asked(**makes, functions=True, endpoints=[each | {"Tags": tags} for each in INTERFACES]) == []


def test_an_interface_endpoint_takes_one_subnet_of_each_zone() -> None:
    twice: dict[str, Any] = {"subnets": {FIRST: f"{REGION}a", SECOND: f"{REGION}a"}, "offered": ()}
    makes: dict[str, Any] = {"service_endpoints": True, "route_table_ids": [TABLE]}
    found = [each.problem for each in asked(**twice, **makes, functions=True)]
    assert f"has several in {REGION}a, and AWS makes an interface endpoint in one subnet of each zone" in found
    assert len(found) == 1 + len(asked(**twice, **makes)), "containers alone have none"


def test_the_route_table_of_each_subnet_must_be_named() -> None:
    (found,) = asked(service_endpoints=True, route_table_ids=["rtb-0a1b2c3f"])
    assert (found.field, found.problem) == (
        "security.vpc.route_table_ids",
        f"lacks {TABLE}, the route table of {SECOND}",
    )

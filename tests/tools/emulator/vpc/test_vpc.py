"""Functions in a VPC: they reach a service by an endpoint that lets them in, or by a route to the internet."""

import json
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import (
    REGION,
    Resources,
    StackFailedError,
    create,
    function,
    resource,
    role,
    statement,
)

ASK = """
import boto3, botocore.config, botocore.exceptions, os
def handler(event, context):
    settings = botocore.config.Config(retries={"total_max_attempts": 1})
    client = boto3.client(event["service"], endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=settings)
    try:
        getattr(client, event["operation"])()
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
    except botocore.exceptions.BotoCoreError as error:
        return type(error).__name__
    return "reached"
"""
HTTPS = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443}
ANYWHERE = {"CidrIp": "0.0.0.0/0"}
INTERFACES = [f"ec2:{action}NetworkInterface" for action in ("Create", "Delete")] + ["ec2:DescribeNetworkInterfaces"]
CLOSED = "ConnectionClosedError"


def policy(account: str) -> dict[str, Any]:
    bound = {"StringEquals": {"aws:PrincipalAccount": account}}
    return {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*", "Condition": bound}]}


def network(name: str, **changes: Any) -> Resources:
    """Return a VPC with endpoints of SQS and S3 and a function in it; `changes`: properties of one of its parts."""

    def part(kind: str, suffix: str, **properties: Any) -> Resources:
        return {f"{name}{suffix}": resource(f"EC2::{kind}", properties | changes.get(suffix, {}))}

    vpc, of_endpoints = {"Ref": f"{name}Vpc"}, {"VpcId": {"Ref": f"{name}Vpc"}}
    group, table = {"Fn::GetAtt": [f"{name}Group", "GroupId"]}, {"Ref": f"{name}Table"}
    subnets = [{"Ref": f"{name}Subnet"}]
    open_to_group = [HTTPS | {"SourceSecurityGroupId": group}]
    return {
        **part("VPC", "Vpc", CidrBlock="10.0.0.0/16", EnableDnsHostnames=True, EnableDnsSupport=True),
        **part("Subnet", "Subnet", VpcId=vpc, CidrBlock="10.0.0.0/24"),
        **part("RouteTable", "Table", VpcId=vpc),
        **part("SubnetRouteTableAssociation", "Of", SubnetId=subnets[0], RouteTableId=table),
        **part("SecurityGroup", "Group", GroupDescription="-", VpcId=vpc, SecurityGroupEgress=[HTTPS | ANYWHERE]),
        **part("SecurityGroup", "Doors", GroupDescription="-", VpcId=vpc, SecurityGroupIngress=open_to_group),
        **part(
            "VPCEndpoint",
            "Sqs",
            **of_endpoints,
            ServiceName=f"com.amazonaws.{REGION}.sqs",
            VpcEndpointType="Interface",
            SubnetIds=subnets,
            SecurityGroupIds=[{"Fn::GetAtt": [f"{name}Doors", "GroupId"]}],
            PrivateDnsEnabled=True,
        ),
        **part(
            "VPCEndpoint",
            "S3",
            **of_endpoints,
            ServiceName=f"com.amazonaws.{REGION}.s3",
            VpcEndpointType="Gateway",
            RouteTableIds=[table],
        ),
        f"{name}Function": function(ASK, VpcConfig={"SubnetIds": subnets, "SecurityGroupIds": [group]}),
    }


# For each fault of the network the answers of SQS (an interface), S3 (a gateway) and STS (without an endpoint).
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "Whole": ({}, "reached", "reached", CLOSED),
    "Nameless": ({"Sqs": {"PrivateDnsEnabled": False}}, CLOSED, "reached", CLOSED),
    "Hostless": ({"Vpc": {"EnableDnsHostnames": False}}, CLOSED, "reached", CLOSED),
    "Shut": ({"Doors": {"SecurityGroupIngress": []}}, CLOSED, "reached", CLOSED),
    "Routeless": ({"S3": {"RouteTableIds": []}}, "reached", CLOSED, CLOSED),
    "Mute": (
        {"Group": {"SecurityGroupEgress": [HTTPS | ANYWHERE | {"FromPort": 80, "ToPort": 80}]}},
        CLOSED,
        CLOSED,
        CLOSED,
    ),
    "Ours": ({"Sqs": {"PolicyDocument": policy("111122223333")}}, "reached", "reached", CLOSED),
    "Theirs": ({"Sqs": {"PolicyDocument": policy("444455556666")}}, "AccessDenied", "reached", CLOSED),
}


@pytest.fixture(scope="module")
def functions(bare_cloud: LocalCloud) -> dict[str, str]:
    """Create all networks in one stack; return the names of the functions."""
    parts: Resources = {"Role": role([statement(["sqs:ListQueues", "s3:ListAllMyBuckets", *INTERFACES])])}
    for name, (changes, *_) in CASES.items():
        parts |= network(name, **changes)
    made = create(bare_cloud, "networks", parts | {"Outside": function(ASK)})
    return {name: made[f"{name}Function"] for name in CASES} | {"Outside": made["Outside"]}


def asked(cloud: LocalCloud, name: str, service: str, operation: str) -> str:
    event = json.dumps({"service": service, "operation": operation})
    answer = cloud.client("lambda", region=REGION).invoke(FunctionName=name, Payload=event)
    found: str = json.loads(answer["Payload"].read())
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_function_reaches_what_its_network_leads_to(
    bare_cloud: LocalCloud, functions: dict[str, str], name: str
) -> None:
    asks = (("sqs", "list_queues"), ("s3", "list_buckets"), ("sts", "get_caller_identity"))
    found = tuple(asked(bare_cloud, functions[name], *each) for each in asks)
    assert found == CASES[name][1:]


def test_a_function_outside_of_a_vpc_reaches_everything(bare_cloud: LocalCloud, functions: dict[str, str]) -> None:
    assert asked(bare_cloud, functions["Outside"], "sts", "get_caller_identity") == "reached"


def test_a_route_to_the_internet_leads_to_every_service(bare_cloud: LocalCloud) -> None:
    ec2 = bare_cloud.client("ec2", region=REGION)
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    parts: Resources = {"Role": role([statement(INTERFACES)]), **network("Out")}
    made = create(bare_cloud, "way-out", parts)
    ways = {"public": {"GatewayId": gateway}, "private": {"NatGatewayId": "nat-0a1b2c3d"}}
    ec2.create_route(RouteTableId=made["OutTable"], DestinationCidrBlock="0.0.0.0/0", **ways["public"])
    assert asked(bare_cloud, made["OutFunction"], "sts", "get_caller_identity") == CLOSED, "it has no public address"
    ec2.replace_route(RouteTableId=made["OutTable"], DestinationCidrBlock="0.0.0.0/0", **ways["private"])
    assert asked(bare_cloud, made["OutFunction"], "sts", "get_caller_identity") == "reached"


@pytest.mark.parametrize(
    ("member", "lost", "reason"),
    [
        ("SubnetIds", "subnet-0123456789abcdef0", "The subnet ID 'subnet-0123456789abcdef0' does not exist"),
        ("SecurityGroupIds", "sg-0123456789abcdef0", "The security group ID 'sg-0123456789abcdef0' does not exist"),
    ],
)
def test_a_function_needs_a_network_that_exists(bare_cloud: LocalCloud, member: str, lost: str, reason: str) -> None:
    parts: Resources = {"Role": role([statement(INTERFACES)]), **network("Lost")}
    parts["LostFunction"]["Properties"]["VpcConfig"][member] = [lost]
    with pytest.raises(StackFailedError) as failed:
        create(bare_cloud, f"lost-{member.lower()}", parts)
    assert reason in failed.value.reasons[0]

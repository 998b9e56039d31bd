"""The network of `security.vpc`: a VPC without internet, or the user's own, its endpoints and who stands in it."""

import json
from typing import Any

import pytest

from support.templates.edits import template_of
from support.templates.template_parts import Template, all_of, only, properties, resources

VPC, SUBNETS = "vpc-0a1b2c3d4e5f60718", ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"]
TABLES, GROUP = ["rtb-0a1b2c3d4e5f60718"], "sg-0a1b2c3d4e5f60718"
OWN: dict[str, Any] = {"vpc_id": VPC, "subnet_ids": SUBNETS}
WEIGHTS: dict[str, Any] = {"model": {"weights": "s3://a-bucket/qwen3-4b/"}}
ASLEEP: dict[str, Any] = {"hosting": {"idle": "zero"}}
ASYNC: dict[str, Any] = {"hosting": {"mode": "async", "instance_count": {"min": 0, "max": 2}}}
WITHOUT_JOBS: dict[str, Any] = {"jobs": {"enabled": False}, "operations": {"tracing": True}}
MACHINES: dict[str, Any] = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "transformers"},
    "hosting": {"mode": "ec2", "instance_type": "c5.xlarge"},
}


def made(changes: dict[str, Any], **vpc: Any) -> Template:
    return template_of(changes | {"security": {"vpc": vpc}})


def endpoints(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Return the properties of the endpoints of a kind by the end of their names."""
    found = [each for each in all_of(template, "EC2::VPCEndpoint") if each["VpcEndpointType"] == kind]
    return {each["ServiceName"]["Fn::Join"][1][-1].removeprefix("."): each for each in found}


def opened_to(template: Template, endpoint: dict[str, Any]) -> list[str]:
    """Return the groups that the endpoint's security group lets in, as texts."""
    (group,) = endpoint["SecurityGroupIds"]
    rules = template["Resources"][group["Fn::GetAtt"][0]]["Properties"]["SecurityGroupIngress"]
    assert {(each["IpProtocol"], each["FromPort"], each["ToPort"]) for each in rules} == {("tcp", 443, 443)}
    return [json.dumps(each["SourceSecurityGroupId"]) for each in rules]


def test_nothing_leads_out_of_a_vpc_that_the_stack_makes(templates: dict[str, Template]) -> None:
    template = templates["private-network"]
    for kind in ("InternetGateway", "NatGateway", "Route", "VPCPeeringConnection"):
        assert resources(template, f"EC2::{kind}") == []
    assert properties(template, "EC2::VPC")["EnableDnsHostnames"] is True
    zones = [json.dumps(each["AvailabilityZone"]) for each in all_of(template, "EC2::Subnet")]
    assert len(set(zones)) == 2


@pytest.mark.parametrize(
    ("changes", "interfaces"),
    [
        (WEIGHTS, {"sagemaker.runtime", "sagemaker.api", "sqs", "events"}),
        (WEIGHTS | ASLEEP, {"sagemaker.runtime", "sagemaker.api", "sqs", "events"}),
        (WEIGHTS | ASYNC, {"sagemaker.runtime", "sagemaker.api", "events"}),
        (
            WEIGHTS | {"jobs": {"enabled": False}, "operations": {"tracing": True}},
            {"sagemaker.runtime", "sagemaker.api", "xray"},
        ),
    ],
    ids=["realtime", "asleep", "async", "without jobs"],
)
def test_functions_get_the_endpoints_of_what_they_call(changes: dict[str, Any], interfaces: set[str]) -> None:
    template = made(changes, functions=True)
    assert endpoints(template, "Interface").keys() == interfaces
    takes_jobs = "jobs" not in changes
    assert endpoints(template, "Gateway").keys() == ({"s3", "dynamodb"} if takes_jobs else {"s3"})
    for each in all_of(template, "Lambda::Function"):
        assert len(each["VpcConfig"]["SubnetIds"]) == 2


def test_the_authorizer_of_tokens_stays_outside_because_it_asks_the_issuer() -> None:
    api = {"auth": "jwt", "jwt": {"issuer": "https://login.example.com", "audience": ["llm"]}}
    template = made(WEIGHTS | {"api": api}, functions=True)
    outside = [each for each in all_of(template, "Lambda::Function") if "VpcConfig" not in each]
    assert [each["Handler"] for each in outside] == ["inference_api.handlers.authorize_token.handler"]
    role = outside[0]["Role"]["Fn::GetAtt"][0]
    policies = [each for each in all_of(template, "IAM::Policy") if {"Ref": role} in each["Roles"]]
    assert not any("ec2:" in json.dumps(each) for each in policies)


def test_containers_alone_need_no_interface_endpoint() -> None:
    template = made(WEIGHTS)
    assert (endpoints(template, "Interface"), [*endpoints(template, "Gateway")]) == ({}, ["s3"])
    assert not any("VpcConfig" in each for each in all_of(template, "Lambda::Function"))
    assert len(properties(template, "SageMaker::Model")["VpcConfig"]["Subnets"]) == 2


@pytest.mark.parametrize("changes", [WEIGHTS, WEIGHTS | ASLEEP, WEIGHTS | ASYNC], ids=["realtime", "asleep", "async"])
def test_an_endpoint_starts_after_its_network(changes: dict[str, Any]) -> None:
    template = made(changes, functions=True)
    network = {name for name, each in template["Resources"].items() if each["Type"] == "AWS::EC2::VPCEndpoint"}
    assert network <= set(only(template, "SageMaker::Endpoint")["DependsOn"])
    assert all(network <= set(each["DependsOn"]) for each in resources(template, "Lambda::Function"))


def test_an_endpoint_without_a_model_names_the_network_itself() -> None:
    template = made(WEIGHTS | ASLEEP)
    network = properties(template, "SageMaker::EndpointConfig")["VpcConfig"]
    assert network == properties(template, "SageMaker::Model")["VpcConfig"]


def test_endpoints_let_in_only_the_deployment_and_its_account(templates: dict[str, Template]) -> None:
    template = templates["private-network"]
    functions = {json.dumps(each["VpcConfig"]["SecurityGroupIds"]) for each in all_of(template, "Lambda::Function")}
    for each in endpoints(template, "Interface").values():
        assert {f"[{group}]" for group in opened_to(template, each)} == functions
        assert each["PrivateDnsEnabled"] is True
    for each in all_of(template, "EC2::VPCEndpoint"):
        (statement,) = each["PolicyDocument"]["Statement"]
        assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}


def test_the_code_of_a_function_may_not_use_what_lambda_needs_for_its_interfaces() -> None:
    template = made(WEIGHTS, functions=True)
    found = [
        each["PolicyDocument"]["Statement"]
        for each in all_of(template, "IAM::Policy")
        if "RoleNetwork" in each["PolicyName"] and not each["PolicyName"].startswith("Endpoint")
    ]
    assert len(found) == len(resources(template, "Lambda::Function"))
    for allowed, denied in found:
        assert (allowed["Effect"], denied["Effect"]) == ("Allow", "Deny")
        assert allowed["Action"] == denied["Action"]
        assert "lambda:SourceFunctionArn" in denied["Condition"]["ArnLike"]


def test_an_own_vpc_gets_nothing_but_security_groups() -> None:
    template = made({}, **OWN, functions=True)
    kinds = {each["Type"] for each in template["Resources"].values() if each["Type"].startswith("AWS::EC2::")}
    assert kinds == {"AWS::EC2::SecurityGroup"}
    assert properties(template, "SageMaker::Model")["VpcConfig"]["Subnets"] == SUBNETS


def test_own_security_groups_take_the_place_of_all_that_the_stack_would_make() -> None:
    template = made({}, **OWN, functions=True, security_group_ids=[GROUP])
    assert resources(template, "EC2::SecurityGroup") == []
    assert properties(template, "SageMaker::Model")["VpcConfig"]["SecurityGroupIds"] == [GROUP]
    for each in all_of(template, "Lambda::Function"):
        assert each["VpcConfig"] == {"SubnetIds": SUBNETS, "SecurityGroupIds": [GROUP]}


def test_endpoints_in_an_own_vpc_stand_in_its_subnets_and_route_tables() -> None:
    """The gateway of S3 takes other accounts, too: package indexes in S3 take no signature."""
    template = made(WEIGHTS, **OWN, service_endpoints=True, route_table_ids=TABLES, functions=True)
    for each in endpoints(template, "Interface").values():
        assert (each["VpcId"], each["SubnetIds"]) == (VPC, SUBNETS)
    for each in endpoints(template, "Gateway").values():
        assert (each["VpcId"], each["RouteTableIds"], "PolicyDocument" in each) == (VPC, TABLES, False)


def test_a_service_that_a_container_calls_lets_the_container_in() -> None:
    template = made(WEIGHTS, other_services=["sts"])
    (group,) = properties(template, "SageMaker::Model")["VpcConfig"]["SecurityGroupIds"]
    assert opened_to(template, endpoints(template, "Interface")["sts"]) == [json.dumps(group)]


def test_machines_get_the_endpoints_of_what_they_call() -> None:
    template = made(MACHINES, **OWN, service_endpoints=True, route_table_ids=TABLES)
    interfaces = endpoints(template, "Interface")
    assert interfaces.keys() == {"events", "logs", "sqs", "ssm", "ssmmessages"}
    launched = properties(template, "EC2::LaunchTemplate")["LaunchTemplateData"]["NetworkInterfaces"][0]
    assert [json.dumps(each) for each in launched["Groups"]] == opened_to(template, interfaces["sqs"])
    assert launched["SubnetId"] == SUBNETS[0]

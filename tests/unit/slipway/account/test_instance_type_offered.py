"""Where EC2 has a type, by answers of botocore's own shapes: the local cloud has every type everywhere."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account
from slipway.account.instance_type_offered import instance_type_offered
from support.deployments.good_one import Changes, deployment

ON_EC2: Changes = {"hosting": {"mode": "ec2", "instance_type": "c7i.xlarge"}}
TWO = ON_EC2["hosting"] | {"instance_count": {"min": 2, "max": 2}}
VPC = {"vpc_id": "vpc-0a1b2c3d", "subnet_ids": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"]}


def subnets(*zones: str) -> dict[str, Any]:
    return {"Subnets": [{"AvailabilityZone": zone} for zone in zones]}


def asked(changes: Changes, offered: list[str], *answers: tuple[str, dict[str, Any]]) -> list[Finding]:
    """The findings, with these answers to the calls after the one for offerings."""
    client = boto3.client("ec2", region_name="eu-west-3", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stubber:
        locations = [{"InstanceType": "c7i.xlarge", "Location": zone} for zone in offered]
        stubber.add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": locations})
        for operation, answer in answers:
            stubber.add_response(operation, answer)
        account = Account(lambda service: client)
        found = list(instance_type_offered(deployment(changes), unreadable("any", []), account))
        stubber.assert_no_pending_responses()
    return found


def test_a_type_that_the_region_lacks_is_refused() -> None:
    (found,) = asked(ON_EC2, [])
    assert found.message == "EC2 has no c7i.xlarge in eu-west-3; use another type, or another region."


@pytest.mark.parametrize(
    ("changes", "missing"), [(ON_EC2, []), ({"hosting": TWO}, ["eu-west-3b"])], ids=["one machine", "two machines"]
)
def test_the_zones_of_a_network_of_its_own_are_the_first_with_default_subnets(
    changes: Changes, missing: list[str]
) -> None:
    answer = ("describe_subnets", subnets("eu-west-3c", "eu-west-3b", "eu-west-3a"))
    found = asked(changes, ["eu-west-3a", "eu-west-3c"], answer)
    assert [zone for each in found for zone in missing if f"no c7i.xlarge in {zone}," in each.problem] == missing
    assert len(found) == len(missing)


def test_without_default_subnets_all_zones_count() -> None:
    zones = {"AvailabilityZones": [{"ZoneName": "eu-west-3b"}, {"ZoneName": "eu-west-3a"}]}
    answers = (("describe_subnets", subnets()), ("describe_availability_zones", zones))
    (found,) = asked(ON_EC2, ["eu-west-3b"], *answers)
    assert found.fix == "use another type, or security.vpc with subnets in eu-west-3b"


def test_the_zones_of_the_users_subnets_are_those_that_machines_take() -> None:
    answer = ("describe_subnets", subnets("eu-west-3b"))
    (found,) = asked(ON_EC2 | {"security": {"vpc": VPC}}, ["eu-west-3a"], answer)
    assert "EC2 has no c7i.xlarge in eu-west-3b, where the machines would run" in found.message

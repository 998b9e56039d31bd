"""Services that a deployment calls through its VPC, and their page."""

import pytest

from llm_hosting.resolution.aws_services import NEEDS, endpoints_in_words, needed_services
from support.deployments.good_one import ON_EC2, Changes, deployment
from support.repository import ROOT

OWN = {"vpc_id": "vpc-0a1b2c3d", "subnet_ids": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"]}
INSIDE: Changes = {"security": {"vpc": OWN | {"functions": True}}}
WITHOUT_JOBS: Changes = {"jobs": {"enabled": False}}
KEYS: Changes = {"api": {"auth": "api-key", "keys": {"team": {}}}}

JWT = {"issuer": "https://login.example.com", "audience": ["llm"], "groups": {"guests": {"tokens_per_minute": 60}}}
GROUPS: Changes = {"api": {"auth": "jwt", "jwt": JWT}}


def test_the_page_of_the_network_names_every_service() -> None:
    page = (ROOT / "docs" / "network.md").read_text()
    assert [each.service for each in NEEDS if f"`{each.service}`" not in page] == []


@pytest.mark.parametrize(
    ("changes", "services"),
    [
        ({}, []),
        ({"security": {"vpc": OWN}}, ["s3"]),
        (INSIDE | WITHOUT_JOBS, ["s3", "sagemaker.api", "sagemaker.runtime"]),
        (INSIDE | WITHOUT_JOBS | KEYS, ["dynamodb", "s3", "sagemaker.api", "sagemaker.runtime"]),
        (INSIDE | WITHOUT_JOBS | GROUPS, ["dynamodb", "s3", "sagemaker.api", "sagemaker.runtime"]),
        (ON_EC2 | {"security": {"vpc": OWN}}, ["dynamodb", "events", "logs", "s3", "sqs", "ssm", "ssmmessages"]),
        (
            ON_EC2 | INSIDE,
            ["dynamodb", "ec2", "events", "logs", "s3", "sqs", "ssm", "ssmmessages"],
        ),
    ],
    ids=["no VPC", "containers", "functions", "keys", "groups", "machines", "machines and functions"],
)
def test_services_follow_from_the_settings(changes: Changes, services: list[str]) -> None:
    assert needed_services(deployment(changes)) == services


def test_a_price_is_told_for_endpoints_that_the_stack_makes() -> None:
    weights: Changes = {"model": {"weights": "s3://a-bucket/a-model/"}}
    assert endpoints_in_words(deployment({"security": {"vpc": OWN}})) == ""
    assert endpoints_in_words(deployment(weights | {"security": {"vpc": {}}})) == "1 gateway endpoint: free"
    made = endpoints_in_words(deployment(weights | {"security": {"vpc": {"functions": True}}}))
    assert made.startswith("4 interface endpoints in 2 zones and 2 gateway endpoints: about 58 USD a month")

"""What `doctor` says of API Gateway's usage plans, by answers of botocore's shapes."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account, is_used
from slipway.account.usage_plans import usage_plans
from support.deployments.good_one import deployment

WITH_KEYS = {"api": {"auth": "api-key", "keys": {name: {} for name in ("alice", "bob", "carol")}}}


def asked(plans: list[dict[str, Any]]) -> list[Finding]:
    keys = {"region_name": "eu-west-3", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    clients = {name: boto3.client(name, **keys) for name in ("apigateway", "sts")}
    with Stubber(clients["apigateway"]) as gateway, Stubber(clients["sts"]) as sts:
        gateway.add_response("get_usage_plans", {"items": plans})
        sts.add_response("get_caller_identity", {"Account": "111122223333"})
        account = Account(lambda service: clients[service])
        return list(usage_plans(deployment(WITH_KEYS), unreadable("gpt2", []), account))


@pytest.mark.parametrize(("others", "fits"), [(296, True), (297, False)])
def test_plans_of_others_are_counted_against_the_quota(others: int, fits: bool) -> None:
    own = {"id": "own", "tags": {"aws:cloudformation:stack-name": "gpt2"}}
    found = asked([own, *({"id": str(number)} for number in range(others))])
    assert not found if fits else found[0].problem.startswith("needs 4 usage plans, but eu-west-3")


def test_only_an_api_with_keys_needs_plans() -> None:
    assert is_used("usage-plans", deployment(WITH_KEYS))
    assert not is_used("usage-plans", deployment({}))

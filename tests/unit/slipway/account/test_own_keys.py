"""What `doctor` finds about keys that a deployment names, by answers of botocore's shapes."""

import json
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account, is_used
from slipway.account.own_keys import own_keys
from support.deployments.good_one import ASYNC, Changes, deployment

KEY = "arn:aws:kms:eu-west-3:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
ENABLED = {"KeyId": KEY, "Arn": KEY, "KeyState": "Enabled", "KeySpec": "SYMMETRIC_DEFAULT"}
LOGS = {"Service": "logs.eu-west-3.amazonaws.com"}


def told(
    security: dict[str, str], key: dict[str, Any] | None, principal: Any = LOGS, hosting: Changes | None = None
) -> list[tuple[str, str]]:
    """Return field and problem of each finding. key: None = there is no such key."""
    kms = boto3.client("kms", region_name="eu-west-3", aws_access_key_id="a", aws_secret_access_key="b")
    account = Account(lambda service: {"kms": kms, "sts": Region()}[service])
    with Stubber(kms) as stubber:
        if key is None:
            stubber.add_client_error("describe_key", "NotFoundException")
        else:
            stubber.add_response("describe_key", {"KeyMetadata": ENABLED | key})
        policy = json.dumps({"Statement": [{"Principal": principal}]})
        stubber.add_response("get_key_policy", {"Policy": policy})
        found = list(
            own_keys(deployment({"security": security, "hosting": hosting or {}}), unreadable("chat", []), account)
        )
    return [(each.field, each.problem) for each in found]


class Region:
    meta = type("Meta", (), {"region_name": "eu-west-3"})


ACCOUNT = {"AWS": "arn:aws:iam::111122223333:root"}
DATA, OF_LOGS = "security.kms_key_arn", "security.log_kms_key_arn"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ({}, None),
        (None, f"{KEY} does not exist"),
        ({"KeyState": "Disabled"}, "is disabled"),
        ({"KeyState": "PendingDeletion"}, "is about to be deleted"),
        ({"KeyState": "PendingImport"}, "is in state PendingImport"),
        ({"KeySpec": "RSA_2048"}, "is a key of RSA_2048"),
    ],
)
def test_a_key_that_aws_would_refuse_is_told(key: dict[str, Any] | None, problem: str | None) -> None:
    assert told({"kms_key_arn": KEY}, key) == ([(DATA, problem)] if problem else [])


def test_a_key_of_another_region_is_not_asked_for() -> None:
    (found,) = told({"kms_key_arn": KEY.replace("eu-west-3", "us-east-1")}, {})
    assert found == (DATA, "is in us-east-1, but the deployment goes to eu-west-3")


def test_the_policy_of_a_key_for_logs_names_cloudwatch_logs() -> None:
    assert told({"log_kms_key_arn": KEY}, {}) == []
    ((field, problem),) = told({"log_kms_key_arn": KEY}, {}, ACCOUNT)
    assert field == OF_LOGS
    assert problem.startswith("has a policy that does not name logs.eu-west-3.amazonaws.com,")


def test_the_policy_of_a_key_for_an_asynchronous_endpoint_names_sns() -> None:
    """Without it SNS drops the announcements of ended jobs, and tells nobody."""
    asked: dict[str, Any] = {"security": {"kms_key_arn": KEY}, "key": {}}
    assert told(**asked, principal=ACCOUNT) == []
    assert told(**asked, principal={"Service": "sns.amazonaws.com"}, hosting=ASYNC) == []
    ((field, problem),) = told(**asked, principal=ACCOUNT, hosting=ASYNC)
    assert (field, problem.split(",")[0]) == (DATA, "has a policy that does not name sns.amazonaws.com")


@pytest.mark.parametrize(
    ("security", "used"), [({}, False), ({"customer_keys": True}, False), ({"kms_key_arn": KEY}, True)]
)
def test_only_named_keys_are_looked_at(security: dict[str, Any], used: bool) -> None:
    assert is_used("own-keys", deployment({"security": security})) is used

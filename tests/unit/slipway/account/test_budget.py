"""What `doctor` says of the tag and the topic of a budget, by answers of botocore's shapes."""

import json
from contextlib import ExitStack
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account
from slipway.account.budget import budget_topic, cost_allocation_tag
from slipway.account.findings import CHECKS
from support.deployments.good_one import deployment

TOPIC = "arn:aws:sns:us-east-1:111122223333:on-call"
BUDGETED = {"operations": {"monthly_budget_in_usd": 900}, "alarms": {"topic_arn": TOPIC}}
PUBLISH = {
    "Effect": "Allow",
    "Principal": {"Service": "budgets.amazonaws.com"},
    "Action": "SNS:Publish",
    "Resource": TOPIC,
}
TAG = {"TagKey": "slipway:deployment", "Type": "UserDefined"}
OF_ANYBODY = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["SNS:Publish"], "Resource": TOPIC}
OF_OWNERS = OF_ANYBODY | {"Condition": {"StringEquals": {"AWS:SourceOwner": "111122223333"}}}


def asked(check: Any, operation: str, answer: dict[str, Any] | str) -> list[Finding]:
    """Return the findings of a check that makes one call. answer: a text = the code of an error."""
    keys = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    names = {"ce", "sns", "sts", "cloudformation"}
    clients: dict[str, Any] = {name: boto3.client(name, **keys) for name in names}
    with ExitStack() as stubbed:
        stubs = {name: stubbed.enter_context(Stubber(client)) for name, client in clients.items()}
        stub = stubs["sns" if check is budget_topic else "ce"]
        if isinstance(answer, str):
            stub.add_client_error(operation, answer)
        else:
            stub.add_response(operation, answer)
        stubs["sts"].add_response("get_caller_identity", {"Account": "111122223333"})
        return list(check(deployment(BUDGETED), unreadable("chat", []), Account(lambda service: clients[service])))


@pytest.mark.parametrize(
    ("tags", "level", "fix"),
    [
        ([TAG | {"Status": "Active"}], None, ""),
        (
            [TAG | {"Status": "Inactive"}],
            "warning",
            "run `aws ce update",
        ),
        ([], "warning", "deploy, and run this a day later: `aws ce update"),
    ],
)
def test_a_budget_needs_an_active_tag(tags: list[dict[str, str]], level: str | None, fix: str) -> None:
    found = asked(cost_allocation_tag, "list_cost_allocation_tags", {"CostAllocationTags": tags})
    assert [each.level for each in found] == ([level] if level else [])
    assert all(each.fix.startswith(fix) for each in found)


def test_a_member_of_an_organization_learns_whom_to_ask() -> None:
    (found,) = asked(cost_allocation_tag, "list_cost_allocation_tags", "AccessDeniedException")
    assert (found.level, "only its management account may ask" in found.problem) == ("unknown", True)


@pytest.mark.parametrize(
    ("statements", "is_good"),
    [
        ([OF_OWNERS, PUBLISH], True),
        (PUBLISH, True),
        ([OF_ANYBODY], True),
        ([PUBLISH | {"Principal": "*"}], True),
        ([OF_OWNERS], False),
        ([PUBLISH | {"Effect": "Deny"}], False),
    ],
)
def test_the_topic_must_let_budgets_publish(statements: Any, is_good: bool) -> None:
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    found = asked(budget_topic, "get_topic_attributes", {"Attributes": {"Policy": policy}})
    assert [each.level for each in found] == ([] if is_good else ["error"])


def test_a_topic_that_is_missing_is_named() -> None:
    (found,) = asked(budget_topic, "get_topic_attributes", "NotFound")
    assert (found.field, found.problem) == ("alarms.topic_arn", f"{TOPIC} does not exist")


def test_doctor_asks_both() -> None:
    assert {CHECKS["cost-allocation-tag"], CHECKS["budget-topic"]} == {cost_allocation_tag, budget_topic}

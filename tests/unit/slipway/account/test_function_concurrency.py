"""What `doctor` says of functions that run at once, by answers of botocore's shapes."""

from contextlib import ExitStack
from datetime import datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account
from slipway.account.function_concurrency import function_concurrency
from support.deployments.good_one import deployment


def asked(quota: int, unreserved: int, reserved: dict[str, int], deployed: int | None = None) -> list[Finding]:
    """Return the findings. deployed: what the deployed stack's only function reserves; None = there is no stack."""
    keys = {"region_name": "eu-west-3", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    clients: dict[str, Any] = {name: boto3.client(name, **keys) for name in ("cloudformation", "lambda", "sts")}
    with ExitStack() as stubbed:
        stubs = {name: stubbed.enter_context(Stubber(client)) for name, client in clients.items()}
        limit = {"ConcurrentExecutions": quota, "UnreservedConcurrentExecutions": unreserved}
        stubs["lambda"].add_response("get_account_settings", {"AccountLimit": limit})
        stubs["sts"].add_response("get_caller_identity", {"Account": "111122223333"})
        if deployed is None:
            stubs["cloudformation"].add_client_error("describe_stacks", "ValidationError", "chat does not exist")
        else:
            stack = {"StackName": "chat", "CreationTime": datetime(2026, 1, 1), "StackStatus": "CREATE_COMPLETE"}
            function = {
                "LogicalResourceId": "Function",
                "PhysicalResourceId": "chat-f",
                "ResourceType": "AWS::Lambda::Function",
                "LastUpdatedTimestamp": datetime(2026, 1, 1),
                "ResourceStatus": "CREATE_COMPLETE",
            }
            stubs["cloudformation"].add_response("describe_stacks", {"Stacks": [stack]})
            stubs["cloudformation"].add_response("list_stack_resources", {"StackResourceSummaries": [function]})
            stubs["lambda"].add_response("get_function_concurrency", {"ReservedConcurrentExecutions": deployed})
        named = deployment({"api": {"reserved_concurrency": reserved}})
        account = Account(lambda service: clients[service])
        return list(function_concurrency(named, unreadable("chat", []), account))


@pytest.mark.parametrize(
    ("quota", "unreserved", "deployed", "level"),
    [(10, 10, None, "error"), (1000, 103, None, None), (1000, 102, None, "error"), (1000, 102, 3, None)],
    ids=["a new account", "just enough", "one too few", "an update of the same"],
)
def test_a_reservation_leaves_a_hundred_to_other_functions(
    quota: int, unreserved: int, deployed: int | None, level: str | None
) -> None:
    found = asked(quota, unreserved, {"every_minute": 3}, deployed)
    assert [each.field for each in found] == (["api.reserved_concurrency"] if level else [])


def test_a_small_quota_is_enough_for_the_functions_beside_the_reserved_ones() -> None:
    everything = {"poll_job": 300, "run_job": 300, "every_minute": 3, "generate": 300, "route": 90}
    assert asked(1093, 1093, everything) == []

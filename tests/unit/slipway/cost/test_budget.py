"""What AWS Budgets says of a service's budget."""

from typing import Any

from botocore.exceptions import ClientError

from slipway.cost.budget import Budget, budget_of
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack

RESOURCE = {"ResourceType": "AWS::Budgets::Budget", "ResourceStatus": "CREATE_COMPLETE", "PhysicalResourceId": "b-1"}
REFUSAL = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}, "DescribeBudget")


class Account:
    """CloudFormation with one resource, and AWS Budgets with one answer."""

    def __init__(self, answer: dict[str, Any] | ClientError) -> None:
        self.answer = answer

    def get_paginator(self, name: str) -> "Account":
        return self

    def paginate(self, **request: Any) -> list[dict[str, Any]]:
        return [{"StackResourceSummaries": [RESOURCE]}]

    def describe_budget(self, **request: Any) -> dict[str, Any]:
        if isinstance(self.answer, ClientError):
            raise self.answer
        return {"Budget": self.answer}

    @property
    def stack(self) -> DeployedStack:
        described = described_stack("CREATE_COMPLETE", "gpt2 on tgi", parameters={}, outputs={})
        return DeployedStack(described, lambda service: self)


def test_a_new_budget_has_no_forecast() -> None:
    spent = {"ActualSpend": {"Amount": "812.4", "Unit": "USD"}}
    found = budget_of(Account({"BudgetLimit": {"Amount": "900", "Unit": "USD"}, "CalculatedSpend": spent}).stack)
    assert found == Budget(900, 812.4, None)


def test_a_refusal_is_told_and_the_estimate_stays() -> None:
    found = budget_of(Account(REFUSAL).stack)
    assert found
    assert (found.limit, "not authorized" in found.refused) == (None, True)

"""The budget of a service, as AWS Budgets sees it."""

from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import DeployedStack


class Budget(NamedTuple):
    """Amounts of this month in USD. spent, forecast: by AWS's own data; None = AWS does not say yet.

    refused: why AWS Budgets did not answer; "" = it did. Otherwise nothing is known.
    """

    limit: float | None = None
    spent: float | None = None
    forecast: float | None = None
    refused: str = ""


def budget_of(stack: DeployedStack) -> Budget | None:
    """Return the budget of `operations.monthly_budget_in_usd`; None = the stack has none."""
    if not (names := stack.resources.get("AWS::Budgets::Budget")):
        return None
    try:
        found = stack.clients("budgets").describe_budget(AccountId=stack.account, BudgetName=names[0])["Budget"]
    except (BotoCoreError, ClientError) as error:
        return Budget(refused=sentence(error).rstrip("."))
    spend = found.get("CalculatedSpend", {})
    return Budget(
        float(found["BudgetLimit"]["Amount"]), _amount(spend.get("ActualSpend")), _amount(spend.get("ForecastedSpend"))
    )


def _amount(spend: dict[str, Any] | None) -> float | None:
    return float(spend["Amount"]) if spend else None

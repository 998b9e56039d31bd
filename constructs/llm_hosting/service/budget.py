"""The budget of a service in AWS Budgets."""

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

from .. import DEPLOYMENT_TAG

# Of the budget, in percent: what was spent, and what AWS expects to be spent by the end of the month.
_TOLD = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))


class MonthlyBudget(Construct):
    """A budget for all that has the service's tag, which must be an active cost allocation tag of the account.

    usd: of a month. name: of the service, which is the tag's value. topic: is told when a share of the budget is
    passed. Its policy must let budgets.amazonaws.com publish.
    """

    def __init__(self, scope: Construct, construct_id: str, *, usd: float, name: str, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        told = budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn)
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=usd, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{DEPLOYMENT_TAG}${name}"]},
            ),
            notifications_with_subscribers=[
                budgets.CfnBudget.NotificationWithSubscribersProperty(
                    notification=budgets.CfnBudget.NotificationProperty(
                        notification_type=kind,
                        comparison_operator="GREATER_THAN",
                        threshold=percent,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=[told],
                )
                for kind, percent in _TOLD
            ],
        )

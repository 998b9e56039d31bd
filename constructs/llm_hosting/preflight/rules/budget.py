"""Rules over the budget of a service."""

import re
from collections.abc import Iterator

from ...catalog.regions import regions_without_budgets
from ...deployment.finding import Finding
from ...resolution import Resolution
from .rule import error, warning

_FIELD = "operations.monthly_budget_in_usd"
_PUBLIC_REGION = re.compile(r"(?!cn-)[a-z]{2}-[a-z]+-\d+")


@error
def region_has_budgets(resolution: Resolution) -> Iterator[Finding]:
    """CloudFormation makes budgets in some regions only, by cfn-lint's schemas; those of China do not count in USD."""
    deployment = resolution.deployment
    region = deployment.region
    if deployment.operations.monthly_budget_in_usd is None or region is None:
        return
    if region in regions_without_budgets():
        fix = "remove it, and make a budget of the tag slipway:deployment by hand, which is of no region"
        yield Finding(_FIELD, f"needs AWS::Budgets::Budget, which CloudFormation does not have in {region}", fix)
    elif not _PUBLIC_REGION.fullmatch(region):
        yield Finding(_FIELD, f"needs a region whose budgets count in USD, not {region}", "remove it")


@warning
def budget_sees_and_tells(resolution: Resolution) -> Iterator[Finding]:
    """A budget without a topic is refused by the synth, and one of a shared endpoint's tenant sees no instances."""
    deployment = resolution.deployment
    if deployment.operations.monthly_budget_in_usd is None:
        return
    if deployment.alarms.topic_arn is None:
        needs = "tells nobody without alarms.topic_arn; the synth refuses it, unless LlmService gets an alarm_topic"
        yield Finding(_FIELD, needs, "set alarms.topic_arn to an SNS topic that budgets.amazonaws.com may publish to")
    if deployment.hosting.endpoint is not None:
        sees = "sees no instances with hosting.endpoint: they have the tag of the shared endpoint"
        yield Finding(_FIELD, sees, "remove it, and make a budget for the shared endpoint's stack by hand")

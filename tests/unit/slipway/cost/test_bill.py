"""What Cost Explorer is asked, and what its answer means."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slipway.cost.bill import Bill, bill_of
from slipway.cost.months import MonthUntilNow
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


class CostExplorer:
    """Cost Explorer with one answer. asked: the requests."""

    def __init__(self, answer: dict[str, Any] | ClientError, url: str = "https://ce.us-east-1.amazonaws.com") -> None:
        self.answer, self.asked = answer, list[dict[str, Any]]()
        self.meta = SimpleNamespace(endpoint_url=url)

    def get_cost_and_usage(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        if isinstance(self.answer, ClientError):
            raise self.answer
        return self.answer

    @property
    def stack(self) -> DeployedStack:
        described = described_stack("CREATE_COMPLETE", "gpt2 on tgi", parameters={}, outputs={})
        return DeployedStack(described, lambda service: self)


def answer(*amounts: str) -> dict[str, Any]:
    return {"ResultsByTime": [{"Total": {"UnblendedCost": {"Amount": each, "Unit": "USD"}}} for each in amounts]}


@pytest.mark.parametrize(
    ("now", "end"),
    [
        (datetime(2026, 11, 28, 22, 30, tzinfo=UTC), "2026-11-29"),  # today counts
        (datetime(2027, 2, 3, tzinfo=UTC), "2026-12-01"),
    ],
)
def test_the_month_of_the_tag_is_asked_for(now: datetime, end: str) -> None:
    explorer = CostExplorer(answer("812.4"))
    found = bill_of(explorer.stack, MonthUntilNow(NOVEMBER, now))
    assert found == Bill(812.4, "of what has the tag slipway:deployment, up to a day old")
    (asked,) = explorer.asked
    assert asked["TimePeriod"] == {"Start": "2026-11-01", "End": end}
    assert asked["Filter"]["Tags"] == {"Key": "slipway:deployment", "Values": ["chat"], "MatchOptions": ["EQUALS"]}


def test_nothing_may_mean_an_inactive_tag() -> None:
    found = bill_of(CostExplorer(answer("0")).stack, MonthUntilNow(NOVEMBER, NOVEMBER))
    assert found.usd == 0
    assert "0 may mean that slipway:deployment is not an active cost allocation tag" in found.note


def test_a_refusal_is_told_and_the_estimate_stays() -> None:
    refusal = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}, "GetCostAndUsage")
    found = bill_of(CostExplorer(refusal).stack, MonthUntilNow(NOVEMBER, NOVEMBER))
    assert (found.usd, "not authorized" in found.note) == (None, True)


def test_the_local_cloud_is_not_asked() -> None:
    explorer = CostExplorer(answer("1"), url="http://127.0.0.1:4566")
    assert bill_of(explorer.stack, MonthUntilNow(NOVEMBER, NOVEMBER)) == Bill(None, "the local cloud sends no bill")
    assert not explorer.asked

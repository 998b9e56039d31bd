"""What Cost Explorer says of a service: the cost of all that has its tag."""

from datetime import timedelta
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import DEPLOYMENT_TAG
from slipway.cost.months import MonthUntilNow
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import DeployedStack

_DAY, _MOMENT = timedelta(days=1), timedelta(microseconds=1)  # Cost Explorer's end is the day after the last one


class Bill(NamedTuple):
    """The cost in USD; None = there is none, and `note` says why. note: what else the reader must know."""

    usd: float | None
    note: str


def bill_of(stack: DeployedStack, time: MonthUntilNow) -> Bill:
    """Ask Cost Explorer for the month. Its data are up to a day old."""
    if stack.local_cloud:
        return Bill(None, "the local cloud sends no bill")
    tag = {"Key": DEPLOYMENT_TAG, "Values": [stack.name], "MatchOptions": ["EQUALS"]}
    try:
        answer = stack.clients("ce").get_cost_and_usage(
            TimePeriod={"Start": f"{time.begun:%Y-%m-%d}", "End": f"{time.ended + _DAY - _MOMENT:%Y-%m-%d}"},
            Granularity="MONTHLY",
            Metrics=["UnblendedCost"],
            Filter={"Tags": tag},
        )
    except (BotoCoreError, ClientError) as error:
        return Bill(None, sentence(error).rstrip("."))
    usd = sum(float(each["Total"]["UnblendedCost"]["Amount"]) for each in answer["ResultsByTime"])
    inactive = f"; 0 may mean that {DEPLOYMENT_TAG} is not an active cost allocation tag: see `slipway doctor`"
    return Bill(usd, f"of what has the tag {DEPLOYMENT_TAG}, up to a day old{'' if usd else inactive}")

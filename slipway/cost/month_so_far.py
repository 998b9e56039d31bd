"""What a service has cost in a month until now, with few calls, for lists of services."""

from dataclasses import dataclass
from datetime import datetime

from llm_hosting.catalog.prices import hourly_price
from slipway.cost import instance_hours, use
from slipway.cost.metrics import answers, finest_period
from slipway.cost.months import MonthUntilNow
from slipway.hosting.hosting import hosting_of
from slipway.stack.deployed_stack import DeployedStack


@dataclass(frozen=True)
class MonthSoFar:
    """The use and the cost of a month; None = not known, or not counted.

    usd: of all that ran by the hour. usd_per_hour: of what runs now. basis: how `usd` was found, in words.
    """

    usd: float | None
    usd_per_hour: float | None
    requests: int | None
    tokens_in: int | None
    tokens_out: int | None
    basis: str


def month_so_far(stack: DeployedStack, month: datetime) -> MonthSoFar:
    """Return the use and the cost. month: its first moment in UTC. Raises boto3's errors, and UnknownStackError.

    On the local cloud the prices are AWS's, and nothing is spent. A component on a shared endpoint costs nothing by the
    hour, because the instances are those of the endpoint's stack.
    """
    hosting, time = hosting_of(stack), MonthUntilNow(month, stack.now)
    meters, period = hosting.meters(), finest_period(month, time.now)
    asked = instance_hours.questions_of(meters, period)
    found = answers([*asked, *use.questions_of(stack)], month, time.ended, stack.clients("cloudwatch"))
    hours = instance_hours.hours_of(meters, found[: len(asked)], period, stack.region)
    used = use.use_of(stack, month, found[len(asked) :])
    prices = [(hourly_price(name, stack.region), count) for name, count in hosting.running.items()] if meters else []
    return MonthSoFar(
        instance_hours.total_usd(hours),
        None if any(price is None for price, _ in prices) else sum(price.usd * n for price, n in prices if price),
        used.requests,
        used.tokens_in,
        used.tokens_out,
        instance_hours.in_words(hours, stack.region)
        if meters or not stack.shares_endpoint
        else "the shared endpoint has the instances",
    )

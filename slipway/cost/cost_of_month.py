"""Estimates what a service has cost in a month, from CloudWatch's metrics and the prices of the stack's region."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from slipway.cost import instance_hours, use
from slipway.cost.beside import parts_of
from slipway.cost.instance_hours import InstanceHours
from slipway.cost.lines import Line
from slipway.cost.metrics import Question, Series, answers, finest_period
from slipway.cost.months import MonthUntilNow
from slipway.cost.use import Use
from slipway.hosting.hosting import hosting_of
from slipway.stack.deployed_stack import DeployedStack


@dataclass(frozen=True)
class MonthCost:
    """The estimate.

    hours: of the instances, by type. instance_type: the first of them, also if none ran; "" = the stack has none.
    instances_at_once: how many ran on average while any ran. beside: the other lines. calls: requests that kept the
    model awake, in each period since the stack was made. calls_of_models: of each model in the whole month.
    """

    time: MonthUntilNow
    hours: Sequence[InstanceHours]
    beside: Sequence[Line]
    use: Use
    instance_type: str
    instances_at_once: float
    calls: Sequence[float]
    calls_of_models: Mapping[str, int]
    period_in_minutes: float

    @property
    def usd(self) -> float | None:
        """All lines together; None = the price of an instance is not known. Small lines without a price count 0."""
        if (instances := instance_hours.total_usd(self.hours)) is None:
            return None
        return instances + sum(each.usd or 0 for each in self.beside)

    @property
    def usd_per_million_tokens(self) -> float | None:
        """None = the cost is not known, or no tokens were counted."""
        return self.usd / self.use.tokens * 1e6 if self.usd is not None and self.use.tokens else None


def cost_of(stack: DeployedStack, month: datetime) -> MonthCost:
    """Return the estimate until now. month: its first moment in UTC. Raises boto3's errors, and UnknownStackError.

    On the local cloud the prices are AWS's, and nothing is spent.
    """
    hosting, time = hosting_of(stack), MonthUntilNow(month, stack.now)
    meters, models, period = hosting.meters(), hosting.calls_by_model(), finest_period(month, time.now)
    parts = list(parts_of(stack, time, int(hosting.state().get("disks_in_gb", 0))))
    asked: list[Sequence[Question]] = [
        instance_hours.questions_of(meters, period),
        use.questions_of(stack),
        [Question(each, "SampleCount", period) for each in models.values()],
        *(part.questions for part in parts),
    ]
    found = iter(answers([each for some in asked for each in some], month, time.ended, stack.clients("cloudwatch")))
    of_hours, of_use, of_calls, *of_parts = [[next(found) for _ in some] for some in asked]
    return MonthCost(
        time,
        instance_hours.hours_of(meters, of_hours, period, stack.region),
        [line for part, each in zip(parts, of_parts, strict=True) for line in part.lines(each)],
        use.use_of(stack, month, of_use),
        meters[0].types[0] if meters else "",
        instance_hours.at_once(meters, of_hours, period),
        _by_period(of_calls, max(month, stack.created), time.ended, period),
        {name: int(sum(each.values())) for name, each in zip(models, of_calls, strict=True)},
        period.total_seconds() / 60,
    )


def _by_period(calls: Sequence[Series], begun: datetime, ended: datetime, period: timedelta) -> list[float]:
    """Return the calls of each period from the first that ends after `begun`, with 0 for those without any."""
    seconds = period.total_seconds()
    first, end = int(begun.timestamp() // seconds), ceil(ended.timestamp() / seconds)
    counts: defaultdict[int, float] = defaultdict(float)
    for moment, count in (point for each in calls for point in each.items()):
        counts[int(moment.timestamp() // seconds)] += count
    return [counts[number] for number in range(first, end)]

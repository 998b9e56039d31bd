"""What a service costs: the hours that its instances ran, their price, and the price of a million tokens."""

from dataclasses import dataclass
from typing import NamedTuple

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ..catalog.instances import InstanceType
from ..catalog.prices import HOME_REGION
from ..surroundings import Surroundings
from .expressions import HOURS, RUNNING, price, shown_price, spent
from .panel import Panel, Question, constant, figures, graph, math
from .tokens import token_metrics


class RegionalPrice(NamedTuple):
    """The price of an instance for an hour. place: the region, as a reader is told it."""

    usd: float
    as_of: str
    place: str


@dataclass(frozen=True)
class Awake:
    """What runs and bills by the hour.

    minutes: a metric whose statistic counts one for each minute of each instance. noun: "instance" or "machine".
    most: how many may run. price: of one for an hour; None = the price is not known, or differs.
    """

    minutes: cloudwatch.Metric
    noun: str
    most: int
    price: RegionalPrice | None

    def panels(self, surroundings: Surroundings) -> list[Panel]:
        """Return what they are by now, and what they cost."""
        return [self._against_maximum(), self._cost(surroundings)]

    def _against_maximum(self) -> Panel:
        running = math(f"{self.noun}s that run", RUNNING, minutes=self.minutes)
        return Panel(
            Question.FULL,
            f"A full service runs its maximum of {self.noun}s, and its queue grows all the same.",
            [graph(f"{self.noun}s".capitalize(), running, constant("maximum", self.most), unit=f"{self.noun}s")],
        )

    def _cost(self, surroundings: Surroundings) -> Panel:
        hours = math(f"{self.noun} hours", HOURS, minutes=self.minutes)
        prompts, answers = token_metrics(surroundings)
        if self.price is None:
            unpriced = f"The price of {self.noun}s is not known, so only their hours are shown."
            return Panel(Question.COST, unpriced, [figures("Hours awake", hours)])
        money = spent(price(self.price.usd))
        usd = math("USD", money, minutes=self.minutes)
        of_tokens = math(
            "USD per million tokens",
            f"{money} / ((FILL(prompts, 0) + FILL(answers, 0)) / 1000000)",
            minutes=self.minutes,
            prompts=prompts,
            answers=answers,
        )
        return Panel(
            Question.COST,
            f"The hours of {self.noun}s, times the price of {self.price.as_of} in {self.price.place}, for the time "
            "that the dashboard shows: an indication, never a bill; `slipway cost` counts more.",
            [figures("Hours awake", hours, usd), figures("Price of tokens", of_tokens)],
        )


def price_of(scope: Construct, *types: InstanceType) -> RegionalPrice | None:
    """Return the price of an instance in the stack's region; of a stack for any region, that in the home region.

    None = the types differ in it, or it is not known.
    """
    region = cdk.Stack.of(scope).region
    # A template for any region names none.
    region, place = (HOME_REGION, "N. Virginia") if cdk.Token.is_unresolved(region) else (region, region)
    found = {shown_price(each, region) for each in types}
    known = found.pop() if len(found) == 1 else None
    return RegionalPrice(known.usd, known.as_of, place) if known else None

"""Counts the hours for which instances ran, by type, and prices them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from llm_hosting.catalog.prices import Price, hourly_price
from slipway.cost.metrics import Question, Series
from slipway.hosting.meter import Meter


@dataclass(frozen=True)
class InstanceHours:
    """The hours of all instances of one type together. price: of an hour in the stack's region; None = not known.

    instance_type: several names if nothing tells the hours of each.
    """

    instance_type: str
    hours: float
    price: Price | None

    @property
    def usd(self) -> float | None:
        if not self.hours:
            return 0.0
        return self.hours * self.price.usd if self.price else None


def questions_of(meters: Sequence[Meter], period: timedelta) -> list[Question]:
    """Return the questions whose answers `hours_of` and `at_once` take."""
    return [
        Question(metric, "SampleCount", period)
        for meter in meters
        for metric in (meter.metric, *meter.by_type.values())
    ]


def hours_of(meters: Sequence[Meter], answers: Sequence[Series], period: timedelta, region: str) -> list[InstanceHours]:
    """Return the hours of each type. answers: those to `questions_of`."""
    hours: defaultdict[str, float] = defaultdict(float)
    left = iter(answers)
    for meter in meters:
        ran = _hours(meter, next(left), period)
        for name, share in _shares(meter, [next(left) for _ in meter.by_type]):
            hours[name] += ran * share
    return [InstanceHours(name, each, hourly_price(name, region)) for name, each in hours.items()]


def at_once(meters: Sequence[Meter], answers: Sequence[Series], period: timedelta) -> float:
    """Return how many instances ran on average while any ran; 1 if none did. answers: those to `questions_of`."""
    left, hours = iter(answers), 0.0
    moments: set[datetime] = set()
    for meter in meters:
        samples, *_ = [next(left) for _ in range(1 + len(meter.by_type))]
        hours += _hours(meter, samples, period)
        moments |= samples.keys()
    return max(1.0, hours / (len(moments) * (period / timedelta(hours=1)))) if moments else 1.0


def total_usd(hours: Sequence[InstanceHours]) -> float | None:
    """Return the cost of all hours; None = the price of a type is not known."""
    found = [each.usd for each in hours]
    return None if None in found else sum(usd for usd in found if usd)


def in_words(hours: Sequence[InstanceHours], region: str) -> str:
    """Return the hours and the prices in words."""
    return "; ".join(_priced(each, region) for each in hours if each.hours) or "no instance has run"


def _priced(each: InstanceHours, region: str) -> str:
    hours = f"{each.hours:,.1f} h of {each.instance_type}"
    if each.price is None:
        return f"{hours}, whose price in {region} is not known"
    return f"{hours} at {each.price.usd:g} USD ({region}, {each.price.as_of})"


def _hours(meter: Meter, samples: Series, period: timedelta) -> float:
    if meter.samples_per_hour is None:
        return len(samples) * (period / timedelta(hours=1))
    return sum(samples.values()) / meter.samples_per_hour


def _shares(meter: Meter, by_type: Sequence[Series]) -> Iterator[tuple[str, float]]:
    counts = {name: sum(each.values()) for name, each in zip(meter.by_type, by_type, strict=True)}
    if not (total := sum(counts.values())):
        yield " or ".join(meter.types), 1.0
        return
    yield from ((name, count / total) for name, count in counts.items() if count)

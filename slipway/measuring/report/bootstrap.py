"""Confidence intervals of the ratio of two runs, by a bootstrap over stretches of time."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import pvariance
from typing import TypeVar

from slipway.measuring.figures.percentiles import percentile

_RESAMPLES = 999
_STRETCHES = 20
_SEED = 1
_STEPS = 20_000  # of an integral
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Interval:
    """The ratio of B to A, and the range that noise leaves possible."""

    ratio: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        return self.low <= 1 <= self.high

    @property
    def is_vague(self) -> bool:
        """Whether the ratio may be noise and the range also includes a doubling or a halving."""
        return self.is_noise and (self.low < 0.5 or self.high > 2)


def ratio(
    statistic: Callable[[Sequence[_Item]], float | None],
    a: Sequence[Sequence[_Item]],
    b: Sequence[Sequence[_Item]],
    alike: Sequence[Sequence[Sequence[_Item]]],
    error: float,
) -> Interval | None:
    """The ratio of the statistic of B to that of A, with its interval; None if the statistic has no value.

    a, b: rounds, each in the order of time. Requests side by side share a slow moment, so the bootstrap draws
    stretches of a round, not single requests. The few rounds of one load can't show how much rounds differ; that is
    estimated from all samples that are `alike`, with Student's t. error: the share of intervals that noise alone
    makes wrong.
    """
    whole = _quotient(statistic(flat(b)), statistic(flat(a)))
    if whole is None:
        return None
    chance = random.Random(_SEED)
    drawn = [_quotient(statistic(_drawn(b, chance)), statistic(_drawn(a, chance))) for _ in range(_RESAMPLES)]
    ratios = [each for each in drawn if each is not None]
    low, high = percentile(ratios, 50 * error), percentile(ratios, 100 - 50 * error)
    if low is None or high is None:
        return None
    squares, freedom = _between(statistic, alike)
    within = pvariance(map(math.log, ratios))
    beyond = max(0.0, squares / freedom * (1 / len(a) + 1 / len(b)) - within) if freedom else 0.0
    rounds = student(error, freedom) * math.sqrt(beyond) if beyond else 0.0
    below = math.hypot(max(0.0, math.log(whole / low)), rounds)
    above = math.hypot(max(0.0, math.log(high / whole)), rounds)
    return Interval(whole, whole * math.exp(-below), whole * math.exp(above))


def _between(
    statistic: Callable[[Sequence[_Item]], float | None], samples: Sequence[Sequence[Sequence[_Item]]]
) -> tuple[float, int]:
    """The squared logarithmic distances of rounds from their sample's mean, and their degrees of freedom."""
    squares, freedom = 0.0, 0
    for rounds in samples:
        logs = [math.log(value) for each in rounds if (value := statistic(each))]
        if len(logs) > 1:
            squares += pvariance(logs) * len(logs)
            freedom += len(logs) - 1
    return squares, freedom


@cache
def student(error: float, freedom: int) -> float:
    """The t that noise exceeds in either direction with the probability `error`.

    With t = sqrt(freedom) x tan(angle) the density of the angle is proportional to cos(angle) ^ (freedom - 1).
    """
    step = math.pi / 2 / _STEPS
    density = [math.cos((index + 0.5) * step) ** (freedom - 1) for index in range(_STEPS)]
    beyond = error * sum(density)
    index = next(index for index, outside in enumerate(accumulate(reversed(density))) if outside >= beyond)
    return math.sqrt(freedom) * math.tan(math.pi / 2 - (index + 1) * step)


def _quotient(b: float | None, a: float | None) -> float | None:
    return b / a if a and b else None


def flat(rounds: Sequence[Sequence[_Item]]) -> list[_Item]:
    return [item for each in rounds for item in each]


def _drawn(rounds: Sequence[Sequence[_Item]], chance: random.Random) -> list[_Item]:
    items: list[_Item] = []
    for each in rounds:
        length = max(1, len(each) // _STRETCHES)
        starts = range(0, len(each), length)
        for start in chance.choices(starts, k=len(starts)):
            items += each[start : start + length]
    return items

"""Confidence intervals of ratios between two runs, by a bootstrap over stretches of time."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from slipway.measuring.percentiles import percentile

_RESAMPLES = 999
_STRETCHES = 20
_SEED = 1
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Interval:
    """A ratio between B and A, and what noise leaves possible of it."""

    ratio: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        return self.low <= 1 <= self.high


def ratio(
    statistic: Callable[[Sequence[_Item]], float | None],
    a: Sequence[Sequence[_Item]],
    b: Sequence[Sequence[_Item]],
    error: float,
) -> Interval | None:
    """Of the statistic of B over that of A; None where it has no value.

    a, b: rounds, each in the order of time. Requests that ran beside each other share a slow moment, so stretches of a
    round are drawn, not requests; and rounds first, as they differ by more than that. error: the share of intervals
    that noise alone leads astray.
    """
    whole = _quotient(statistic(flat(b)), statistic(flat(a)))
    if whole is None:
        return None
    chance = random.Random(_SEED)
    drawn = [_quotient(statistic(_drawn(b, chance)), statistic(_drawn(a, chance))) for _ in range(_RESAMPLES)]
    ratios = [each for each in drawn if each is not None]
    low, high = percentile(ratios, 50 * error), percentile(ratios, 100 - 50 * error)
    return None if low is None or high is None else Interval(whole, low, high)


def _quotient(b: float | None, a: float | None) -> float | None:
    return b / a if a and b else None


def flat(rounds: Sequence[Sequence[_Item]]) -> list[_Item]:
    return [item for each in rounds for item in each]


def _drawn(rounds: Sequence[Sequence[_Item]], chance: random.Random) -> list[_Item]:
    items: list[_Item] = []
    for each in chance.choices(rounds, k=len(rounds)):
        length = max(1, len(each) // _STRETCHES)
        starts = range(0, len(each), length)
        for start in chance.choices(starts, k=len(starts)):
            items += each[start : start + length]
    return items

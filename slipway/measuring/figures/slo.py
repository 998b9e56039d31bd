"""A service level objective, `ttft_p90<1s,tpot_p90<60ms`, and the search for the highest rate that holds it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from slipway.measuring.figures.level import Level, open_levels
from slipway.measuring.figures.percentiles import percentile
from slipway.measuring.figures.results import STREAMED, Results

_Timed = Literal["ttft", "tpot", "total"]
_FORM = re.compile(r"(\w+)<=?([0-9.]+)(ms|s|%)")
_UNITS = {"ms": 0.001, "s": 1.0}
_CLOSE = 1.1  # the search ends when the rates that held and failed are this close


class SloError(ValueError):
    """`--slo` can't be used; the message is one sentence."""


@dataclass(frozen=True)
class Limit:
    """One limit. percentile: None for errors, whose limit is a share. Other limits are in seconds."""

    text: str
    metric: _Timed | Literal["errors"]
    percentile: float | None
    most: float

    def measured(self, level: Level) -> float | None:
        """The figure that the limit judges. A failed request counts as infinitely late. None = never measured."""
        if self.metric == "errors":
            return level.failed_share if level.requests else None
        late = [math.inf] * (len(level.requests) - len(level.answered))
        return percentile(level.times(self.metric) + late, self.percentile or 0)

    def holds(self, level: Level) -> bool:
        measured = self.measured(level)
        return measured is not None and measured < self.most


@dataclass(frozen=True)
class Slo:
    """An objective: it holds if all of its limits hold."""

    limits: tuple[Limit, ...]

    def holds(self, level: Level) -> bool:
        return all(limit.holds(level) for limit in self.limits)

    def demand_route(self, route: str) -> None:
        """Raise SloError if a limit is on tokens and the route returns answers as a whole."""
        limit = next((each for each in self.limits if each.metric in ("ttft", "tpot")), None)
        if limit and route not in STREAMED:
            raise SloError(
                f"--slo: {limit.text!r} is measured on a stream only: use --route chat, or a limit on total."
            )


def parse(text: str) -> Slo:
    """Parse limits that are separated by commas. Raises SloError."""
    return Slo(tuple(_limit(each.strip()) for each in text.split(",")))


def _limit(text: str) -> Limit:
    form = _FORM.fullmatch(text.replace(" ", ""))
    if not form:
        raise SloError(f"--slo: {text!r} is not a limit; write limits as in ttft_p90<1s,tpot_p90<60ms,errors<1%.")
    name, number, unit = form.groups()
    try:
        most = float(number)
    except ValueError:
        raise SloError(f"--slo: {number!r} in {text!r} is not a number.") from None
    if name == "errors":
        if unit != "%" or not 0 < most <= 100:
            raise SloError(f"--slo: {text!r}: errors take a share of all requests, such as errors<1%.")
        return Limit(text, "errors", None, most / 100)
    metric, _, share = name.partition("_p")
    known: Sequence[str] = get_args(_Timed)
    if metric not in known or not share.isdecimal() or not 50 <= int(share) <= 99:
        raise SloError(f"--slo: {name!r} is not measured; use {', '.join(known)} with _p50 to _p99, or errors.")
    if unit == "%" or most <= 0:
        raise SloError(f"--slo: {text!r}: a time is more than 0, in s or ms.")
    return Limit(text, cast(_Timed, metric), int(share), most * _UNITS[unit])


def next_rate(slo: Slo, results: Results, slowest: float = 0.0) -> float | None:
    """The rate to measure next; None = the highest rate that holds is found, or is below `slowest`.

    The search doubles the rate, then halves the space between the rates that held and failed. It measures both ends
    twice, so that one slow moment does not decide.
    """
    held, broken = bracket(slo, open_levels(results))
    if broken is None:
        return _round(2 * (held.rate or 0) if held else max(1.0, 2 * slowest))
    if held is None:
        lower = broken.rate if len(broken.rounds) == 1 else _round((broken.rate or 0) / 2)
        return None if lower is None or lower < slowest else lower
    low, high = held.rate or 0, broken.rate or 0
    if high / low > _CLOSE:
        return _round(math.sqrt(low * high))
    unsure = next((level for level in (broken, held) if len(level.rounds) == 1), None)
    return unsure.rate if unsure else None


def bracket(slo: Slo, by_rate: Sequence[Level]) -> tuple[Level | None, Level | None]:
    """The highest level that holds below every level that does not, and the lowest that does not."""
    broken = next((level for level in by_rate if not slo.holds(level)), None)
    held = [level for level in by_rate if broken is None or (level.rate or 0) < (broken.rate or 0)]
    return (held[-1] if held else None), broken


def _round(rate: float) -> float:
    """Round to three digits, so that a rate is readable, and equal if it is measured again."""
    return float(f"{rate:.3g}")

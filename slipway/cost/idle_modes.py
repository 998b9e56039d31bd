"""Plays the requests of a month against the ways to be idle: a pure function of their counts."""

from collections.abc import Sequence
from typing import NamedTuple

from llm_hosting.resolution.idle import IdleTime


class Awake(NamedTuple):
    """The hours for which one instance runs, and the starts in them."""

    hours: float
    wakes: int


def awake(counts: Sequence[float], period_in_minutes: float, idle: IdleTime) -> Awake:
    """Return the hours and starts of one instance with these requests.

    counts: the requests of each period of the time, in order. A call may come at any moment of its period, so the
    instance is needed from the period's begin to its end, then stays. The first call of an instance that sleeps is
    answered after the wake, which bills. Asleep at the begin; what runs on after the end does not count.
    """
    end = len(counts) * period_in_minutes
    if idle.stays_in_minutes is None:
        return Awake(end / 60, 0)
    paid, wakes, until = 0.0, 0, 0.0  # until: when the instance that ran last is gone
    for number, count in enumerate(counts):
        if not count:
            continue
        begun = number * period_in_minutes
        is_asleep = begun >= until
        answered = max(begun + period_in_minutes, begun + (idle.wake_in_seconds or 0) / 60 if is_asleep else 0)
        gone = max(until, answered + idle.stays_in_minutes)
        paid += min(gone, end) - min(begun if is_asleep else until, end)
        wakes += is_asleep
        until = gone
    return Awake(paid / 60, wakes)

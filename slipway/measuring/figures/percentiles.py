"""Percentiles as numpy and spreadsheets compute them."""

import math
from collections.abc import Iterable

SHOWN = (50, 90, 99)


def percentile(values: Iterable[float], share: float) -> float | None:
    """Interpolate linearly between the two nearest values, numpy's default. None without a value; infinity is a
    value.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    position = (len(ordered) - 1) * share / 100
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low if low == high else low + (high - low) * (position - math.floor(position))

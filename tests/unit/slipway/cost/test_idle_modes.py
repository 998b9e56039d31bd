"""Months of requests, played against the ways to be idle, with hours that were counted by hand."""

import pytest

from llm_hosting.resolution.idle import IdleTime
from slipway.cost.idle_modes import awake

# A model that stays for 27 minutes after an answer, and takes 8 minutes to wake.
ZERO = IdleTime(27, 480)
PERIOD = 5  # minutes


def periods(hours: float, *busy: tuple[float, float]) -> list[float]:
    """Return the counts of so many hours, with a request in each period from one hour to another one."""
    counts = [0.0] * round(hours * 60 / PERIOD)
    for begun, ended in busy:
        for number in range(round(begun * 60 / PERIOD), round(ended * 60 / PERIOD)):
            counts[number] = 1
    return counts


def one(hours: float, *moments: float) -> list[float]:
    """Return the counts of so many hours, with a request in the period that begins at each of these hours."""
    return periods(hours, *((moment, moment + PERIOD / 60) for moment in moments))


@pytest.mark.parametrize(
    ("counts", "idle", "hours", "wakes"),
    [
        pytest.param(one(720, 1, 500), IdleTime(None), 720, 0, id="one that never sleeps runs all the time"),
        pytest.param(periods(720), ZERO, 0, 0, id="without a request it never wakes"),
        # Asked at 10:00, answered at 10:08, gone at 10:35.
        pytest.param(one(24, 10), ZERO, 35 / 60, 1, id="a request pays for the wake and the stay"),
        # Awake until 10:35; the second is asked at 10:30, in a period that ends at 10:35, and it is gone at 11:02.
        pytest.param(one(24, 10, 10.5), ZERO, 62 / 60, 1, id="a request before the end prolongs the stay"),
        # The second comes at 10:35, in the moment of the end: another wake, until 11:10.
        pytest.param(one(24, 10, 10 + 35 / 60), ZERO, 70 / 60, 2, id="a request after the end wakes it again"),
        # 08:00 to 18:00 without a pause on each of 30 days, each time 27 minutes longer.
        pytest.param(
            periods(720, *((24 * day + 8, 24 * day + 18) for day in range(30))),
            ZERO,
            30 * (10 + 27 / 60),
            30,
            id="office",
        ),
        # The stay of 27 minutes would end at 24:20, but the month ends at 24:00: 15 minutes are paid.
        pytest.param(one(24, 23.75), ZERO, 15 / 60, 1, id="what runs on after the end does not count"),
        # A wake of 20 minutes outlasts the period of the call; the calls in it wait for it, too.
        pytest.param(periods(24, (10, 10.25)), IdleTime(27, 1200), 47 / 60, 1, id="calls during a wake wait"),
        pytest.param(one(24, 10), IdleTime(30, None), 35 / 60, 1, id="an unknown wake counts as none"),
        pytest.param([], ZERO, 0, 0, id="no time at all"),
    ],
)
def test_the_hours_and_wakes_of_a_month(counts: list[float], idle: IdleTime, hours: float, wakes: int) -> None:
    found = awake(counts, PERIOD, idle)
    assert found.hours == pytest.approx(hours)
    assert found.wakes == wakes


def test_coarse_periods_never_cost_less_than_fine_ones() -> None:
    fine = one(24, 10, 11.5)
    coarse = [max(fine[start : start + 12]) for start in range(0, len(fine), 12)]
    assert awake(coarse, 60, ZERO).hours >= awake(fine, PERIOD, ZERO).hours

"""`--slo`: limits in words, and the search for the highest rate that holds them."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from slipway.measuring.figures.level import levels, open_levels
from slipway.measuring.figures.results import Load, MeasuredAnswer, Results
from slipway.measuring.figures.slo import SloError, bracket, next_rate, parse
from support.measured import load, results

TTFT = parse("ttft_p90<1s")


def test_limits_are_read_with_their_units() -> None:
    slo = parse("ttft_p90<1s, tpot_p50 < 60ms,total_p99<=1.5s,errors<1%")
    read = [(limit.metric, limit.percentile, limit.most) for limit in slo.limits]
    assert read == [("ttft", 90, 1), ("tpot", 50, 0.06), ("total", 99, 1.5), ("errors", None, 0.01)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "ttft",
            "ttft_p90<1",
            "ttft_p90<1m",
            "ttft_p90>1s",
            "ttft<1s",
            "ttft_p10<1s",
            "ttft_p100<1s",
            "ttft_p90<1s,",
        ),
        *("itl_p90<1s", "errors<1s", "errors<0%", "errors_p90<1%", "total_p50<0s", "total_p50<1.2.3s", "total_p50<5%"),
    ],
)
def test_other_words_are_refused_with_an_example_or_the_names_that_are_measured(text: str) -> None:
    with pytest.raises(SloError, match=r"^--slo: .*(ttft_p90<1s|errors<1%|ttft, tpot, total|in s or ms|not a number)"):
        parse(text)


def test_tokens_are_measured_on_a_stream_only() -> None:
    TTFT.demand_route("chat")
    parse("total_p90<1s").demand_route("jobs")
    with pytest.raises(SloError, match="--route chat"):
        TTFT.demand_route("generate")


def test_a_failed_request_counts_as_infinitely_late() -> None:
    fine = load([1.0] * 19, clients=1)
    (level,) = levels(results(fine))
    assert parse("total_p90<2s").holds(level)
    (level,) = levels(results(Load(1, None, 20.0, (*fine.answers, *[MeasuredAnswer(0.0, error="503")] * 3))))
    assert not parse("total_p90<2s").holds(level)
    assert parse("total_p50<2s").holds(level)
    assert not parse("errors<10%").holds(level)


def test_what_was_never_measured_does_not_hold() -> None:
    (level,) = levels(results(load([])))
    assert not parse("total_p90<2s").holds(level)
    assert not parse("errors<1%").holds(level)


def server(most: float) -> Callable[[float], Load]:
    """First tokens take 0.5 s up to `most` requests per second, and 2 s above."""

    def measure(rate: float) -> Load:
        first = 0.5 if rate <= most else 2.0
        answers = tuple(MeasuredAnswer(i / rate, first, first + 1, answer_tokens=11) for i in range(20))
        return Load(None, rate, 20 / rate, answers)

    return measure


def search(found: Results, measure: Callable[[float], Load], *, most: int) -> Results:
    for _ in range(most):
        if (rate := next_rate(TTFT, found)) is None:
            break
        found = replace(found, loads=(*found.loads, measure(rate)))
    return found


@pytest.mark.parametrize("most", [0.3, 1.0, 2.9, 7.3, 40.0])
def test_the_search_finds_the_highest_rate_within_a_tenth(most: float) -> None:
    found = search(results(), server(most), most=20)
    held, broken = bracket(TTFT, open_levels(found))
    assert held is not None
    assert broken is not None
    assert most / 1.1 <= (held.rate or 0) <= most < (broken.rate or 0)
    assert len(held.rounds) == len(broken.rounds) == 2


def test_the_search_ends_where_nothing_holds_and_where_everything_does() -> None:
    assert bracket(TTFT, open_levels(search(results(), server(0), most=6)))[0] is None
    found = search(results(), server(1e9), most=6)
    assert [each.rate for each in found.loads] == [1, 2, 4, 8, 16, 32]
    assert bracket(TTFT, open_levels(found))[1] is None


def test_rates_with_too_few_requests_are_not_tried() -> None:
    assert next_rate(TTFT, results(), slowest=2.5) == 5
    found = results(*[server(0)(4)] * 2)
    assert next_rate(TTFT, found, slowest=1.9) == 2
    assert next_rate(TTFT, found, slowest=2.1) is None


def test_a_slow_moment_does_not_decide() -> None:
    """Three answers are late in the first load at 4 requests per second, and none in any other."""
    measured: list[float] = []

    def measure(rate: float) -> Load:
        answers = server(30)(rate).answers
        if rate == 4 and rate not in measured:
            answers = (*answers[3:], *[MeasuredAnswer(0.0, 1.2, 2.2)] * 3)
        measured.append(rate)
        return Load(None, rate, 20 / rate, answers)

    held, _ = bracket(TTFT, open_levels(search(results(), measure, most=20)))
    assert measured[:4] == [1, 2, 4, 2.83]
    assert held is not None
    assert (held.rate or 0) > 27


def test_noise_leaves_the_found_rate_near() -> None:
    """A server whose first tokens vary by a fifth around a limit that grows with the rate."""
    chance = random.Random(3)

    def measure(rate: float) -> Load:
        times = [0.1 * rate * chance.lognormvariate(0, 0.2) for _ in range(60)]
        return Load(
            None, rate, 60 / rate, tuple(MeasuredAnswer(i / rate, time, time + 1) for i, time in enumerate(times))
        )

    held, _ = bracket(TTFT, open_levels(search(results(), measure, most=16)))
    assert held is not None
    assert (held.rate or 0) == pytest.approx(7.7, rel=0.2)  # P90 of the factor is 1.29


def test_a_search_goes_on_where_an_interrupted_one_ended() -> None:
    whole = search(results(), server(5), most=20)
    half = search(results(), server(5), most=4)
    assert search(half, server(5), most=16).loads == whole.loads

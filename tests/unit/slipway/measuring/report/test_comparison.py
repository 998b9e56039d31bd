"""`bench --compare`: a change beyond noise is told from noise, and unlike runs are not compared."""

import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slipway.__main__ import main
from slipway.measuring.figures.results import Load, Results
from slipway.measuring.report.bootstrap import ratio, student
from slipway.measuring.report.comparison import ComparisonError, compare
from support.measured import load, results, streamed

pytestmark = pytest.mark.slow


def rounds(seed: int, **given: Any) -> list[Load]:
    return [streamed(seed + each, 25, clients=4, **given) for each in range(3)]


BEFORE = results(*rounds(10))


def test_a_fifth_more_is_found_and_told_by_how_much() -> None:
    rows = compare(BEFORE, results(*rounds(20, slower=1.2))).rows
    assert {row.figure: row.verdict for row in rows} == {
        "time to first token P50, ms": "worse",
        "time to first token P90, ms": "worse",
        "time per output token P50, ms": "worse",
        "whole answer P50, ms": "worse",
        "whole answer P90, ms": "worse",
        "tokens out/s while answering": "worse",
    }
    (whole,) = [row for row in rows if row.figure == "whole answer P50, ms"]
    change, low, high = map(float, re.findall(r"\d\.\d+", whole.change))
    assert low < change < high
    assert low < 1.2 < high
    assert {row.verdict for row in compare(results(*rounds(20, slower=1.2)), BEFORE).rows} == {"better"}


def test_the_same_again_is_no_difference() -> None:
    for seed in (20, 30):
        assert {row.verdict for row in compare(BEFORE, results(*rounds(seed))).rows} == {"no difference"}


def test_rounds_that_differ_as_much_as_the_runs_are_no_change() -> None:
    """Each round is even in itself, and their slow ones are slow in both runs."""
    uneven = [load([1.0] * 30), load([1.2] * 30), load([1.1] * 30)]
    later = [load([1.1] * 30), load([1.2] * 30), load([1.15] * 30)]
    verdicts = {row.verdict for row in compare(results(*uneven), results(*later)).rows}
    assert verdicts == {"no difference"}
    assert {row.verdict for row in compare(results(uneven[0]), results(later[0])).rows} == {"better", "worse"} - {
        "better"
    }


def test_rounds_that_are_slow_or_fast_as_a_whole_are_no_change_and_half_as_long_again_is() -> None:
    """Each round is some percent slower or faster, as on a shared machine."""

    def run(chance: random.Random, slower: float) -> Results:
        rounds = [(clients, slower * chance.lognormvariate(0, 0.04)) for _ in range(2) for clients in (1, 2, 4)]
        return results(
            *(load([slow * chance.lognormvariate(0, 0.03) for _ in range(12)], clients=n) for n, slow in rounds)
        )

    def verdicts(slower: float) -> list[str]:
        found = list[str]()
        for seed in range(5):
            chance = random.Random(seed)
            found += [row.verdict for row in compare(run(chance, 1.0), run(chance, slower)).rows]
        return found

    assert set(verdicts(1.0)) == {"no difference"}
    assert verdicts(1.5).count("worse") > 40, "of 45"


def test_students_t_is_that_of_the_tables() -> None:
    for error, freedom, expected in ((0.05, 1, 12.706), (0.05, 4, 2.776), (0.01, 6, 3.707), (0.05, 30, 2.042)):
        assert student(error, freedom) == pytest.approx(expected, abs=0.001)


def test_the_interval_holds_the_ratio_and_narrows_with_more_answers() -> None:
    def width(count: int) -> float:
        a, b = ([each.last_token_in_s or 0 for each in streamed(seed, count, clients=1).answers] for seed in (1, 2))
        interval = ratio(lambda times: sum(times) / len(times), [a], [b], [], 0.01)
        assert interval is not None
        assert interval.low < 1 < interval.high
        return interval.high - interval.low

    assert width(400) < width(25) / 2


def test_failures_are_compared() -> None:
    failing = results(*rounds(10, failing=4))
    for a, b, verdict in ((BEFORE, failing, "worse"), (failing, failing, "no difference")):
        (row,) = [row for row in compare(a, b).rows if row.figure == "failed requests"]
        assert row.verdict == verdict
    (rate,) = [row for row in compare(BEFORE, failing).rows if row.figure.startswith("tokens")]
    assert (rate.a, rate.verdict) == (rate.b, "no difference"), "failures slow no answer"
    assert not [row for row in compare(BEFORE, BEFORE).rows if row.figure == "failed requests"]


def test_few_answers_allow_no_verdict() -> None:
    rows = compare(results(load([1.0] * 9)), results(load([9.0] * 9))).rows
    assert {row.verdict for row in rows} == {"too few answers"}


def test_noise_that_leaves_a_doubling_possible_is_no_verdict() -> None:
    """Two rounds that differ by a factor of thirty in each run say nothing of what the runs have in common."""
    a, b = (results(load([first] * 10), load([second] * 10)) for first, second in ((0.1, 3.0), (3.0, 0.1)))
    rows = compare(a, b).rows
    assert all(re.match(r"x 1\.000 \(0\.00", row.change) for row in rows)
    assert {row.verdict for row in rows} == {"too few answers"}


def test_a_few_failures_of_few_requests_are_no_verdict() -> None:
    a, b = (results(streamed(1, 20, clients=1, failing=each)) for each in (0, 10))
    (row,) = [row for row in compare(a, b).rows if row.figure == "failed requests"]
    assert (row.a, row.b, row.verdict) == ("0 %", "10 %", "too few answers")


def test_a_run_without_an_answer_is_compared_by_its_failures() -> None:
    (row,) = compare(BEFORE, results(streamed(1, 50, clients=4, failing=1))).rows
    assert (row.figure, row.b, row.verdict) == ("failed requests", "100 %", "worse")


def test_the_rates_that_hold_an_objective_are_compared() -> None:
    slo = "total_p90<2.2s"
    a, b = (
        results(*(streamed(seed, 20, rate=rate, slower=slower) for rate in rates), slo=slo)
        for seed, slower, rates in ((1, 1.0, (2.0, 4.0, 2.83)), (2, 1.3, (1.0, 2.0, 1.41)))
    )
    row = compare(a, b).rows[-1]
    assert (row.load, row.figure, row.a, row.b, row.verdict) == (
        "highest rate",
        slo,
        "2.83 requests/s",
        "none",
        "worse",
    )
    assert compare(b, a).rows[-1].verdict == "better"
    assert compare(a, a).rows[-1].verdict == "no difference"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(BEFORE, stand_in=True), "B was measured on the local cloud's stand-in"),
        (replace(BEFORE, route="jobs"), "route chat, B jobs"),
        (results(streamed(1, 20, clients=8)), "no load in common: A has 4 clients, B has 8 clients"),
        (results(), "B has none"),
    ],
)
def test_unlike_runs_are_refused_in_a_sentence(other: Results, said: str) -> None:
    with pytest.raises(ComparisonError, match=said):
        compare(BEFORE, other)


def test_what_was_changed_and_what_weakens_the_comparison_is_said() -> None:
    one_round = results(*rounds(20)[:1], streamed(1, 20, clients=8), version="0.12.0", instance_type="ml.g6.xlarge")
    found = compare(BEFORE, replace(one_round, prompt_tokens=1024, interrupted="Ctrl-C", versions={"urllib3": "2.8.1"}))
    assert found.settings == (
        ("version", "0.11.0", "0.12.0"),
        ("instance type", "ml.g5.xlarge", "ml.g6.xlarge"),
        ("slipway", "1.0.0", "-"),
        ("urllib3", "2.8.0", "2.8.1"),
    )
    said = " ".join(found.warnings)
    for words in ("tokens in is 512 in A and 1024 in B", "B: Interrupted: Ctrl-C", "8 clients", "one round"):
        assert words in said
    assert compare(BEFORE, results(*rounds(20))).warnings == ()


def test_the_command_prints_verdicts_and_names_the_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bench(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["slipway", "bench", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    before, after = replace(BEFORE, stand_in=True), replace(results(*rounds(20, slower=1.2)), stand_in=True)
    a, b = str(before.write(tmp_path / "a")), str(after.write(tmp_path / "b").parent)
    assert bench("--compare", a, b) == 1
    printed = capsys.readouterr().out
    assert "Figures of the stand-in" in printed
    assert "LOAD (STAND-IN)" in printed
    assert re.search(
        r"4 clients +whole answer P50, ms +1,\d{3} +2,\d{3} +x 1\.\d+ \(1\.\d+ to 1\.\d+\) +worse", printed
    )
    assert bench("--compare", b, a) == 0
    assert bench("--compare", a, str(tmp_path / "c")) == 2
    assert "c" in capsys.readouterr().err

"""results.json: what is written is read again, and a file that is something else is refused in a sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from slipway.measuring.figures.percentiles import percentile
from slipway.measuring.figures.results import MeasuredAnswer, ResultsError, Start, read
from support.measured import load, results, streamed

MEASURED = replace(
    results(
        streamed(1, 20, clients=4, failing=5), load([1.0, 2.5], clients=None, rate=2.0, queued_in_s=0.2, attempts=2)
    ),
    start=Start("zero", {"capacity": 60.0, "load": 41.7}),
    interrupted="Ctrl-C",
    slo="ttft_p90<1s",
)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = MEASURED.write(tmp_path / "reports" / "qwen3-4b" / "now")
    assert read(path) == read(path.parent) == MEASURED
    assert [each.name for each in path.parent.iterdir()] == ["results.json"]


def test_results_that_nobody_added_to_are_read(tmp_path: Path) -> None:
    """Fields with a default may be missing, as in a file of an earlier version."""
    written = MEASURED.write(tmp_path)
    written.write_text(written.read_text().replace('"interrupted": "Ctrl-C"', '"later": 1'))
    assert read(tmp_path) == replace(MEASURED, interrupted=None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "the file: Invalid JSON"),
        ("{}", "deployment: Field required"),
        ('{"deployment": 3}', "deployment: Input should be a valid string"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(ResultsError, match=said):
        read(tmp_path)


def test_a_missing_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"results\.json"):
        read(tmp_path)


def test_percentiles_are_those_of_numpy() -> None:
    """Expected: `numpy.percentile(values, [50, 90, 99])` of numpy 2.4.6."""
    few = [0.31, 0.12, 0.55, 0.27, 1.9, 0.44, 0.18, 0.73, 0.29, 0.36, 2.4, 0.21]
    many = [float(i * i % 97) for i in range(250)]
    for values, expected in (
        (few, [0.33499999999999996, 1.7830000000000004, 2.345]),
        (many, [48.5, 91.0, 96.0]),
        ([3.5], [3.5, 3.5, 3.5]),
        ([1.0, 2.0], [1.5, 1.9, 1.99]),
    ):
        assert [percentile(values, share) for share in (50, 90, 99)] == pytest.approx(expected, rel=1e-12)
    assert percentile([], 50) is None


def test_a_failed_request_has_no_answer_to_measure() -> None:
    level_of = MEASURED.loads[0].answers
    assert sum(answer.error is not None for answer in level_of) == 4
    assert MeasuredAnswer(0.0, error="503").last_token_in_s is None

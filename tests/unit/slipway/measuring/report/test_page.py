"""The report of a bench: the published tables come out of it, with their rates from their own latencies."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from slipway.measuring.figures.level import levels
from slipway.measuring.figures.results import Load, MeasuredAnswer, Results, Start, read
from slipway.measuring.report.comparison import compare
from slipway.measuring.report.files import write
from slipway.measuring.report.markdown import markdown
from slipway.measuring.report.page import page
from slipway.measuring.report.plots import plots, svg
from slipway.measuring.report.tables import STAND_IN, remarks
from slipway.measuring.report.terminal import show
from support.measured import load, results, streamed

# Model, engine, type, degree, seconds to load; P50, P90, P99 in ms, and tokens/s, at batch 4 and 256 output tokens.
PUBLISHED = [
    ("BLOOM-176B", "DeepSpeed INT8", "p4d.24xlarge", 8, "74.9", ("27,564", "27,580", "32,179"), "37.1"),
    ("BLOOM-176B", "Accelerate INT8", "p4d.24xlarge", 8, "669.4", ("92,694", "92,735", "103,292"), "11.0"),
    ("OPT-30B", "DeepSpeed FP16", "g5.24xlarge", 4, "239.4", ("11,299", "11,302", "11,576"), "90.6"),
    ("OPT-30B", "Accelerate FP16", "g5.24xlarge", 4, "533.8", ("63,734", "63,737", "67,605"), "16.1"),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row[0]} {row[1]}")
def test_published_tables_get_their_tokens_per_second_from_their_own_p50(tmp_path: Path, row: tuple[Any, ...]) -> None:
    model, engine, instance, degree, to_load, latencies, rate = row
    p50, p90, p99 = (float(each.replace(",", "")) / 1000 for each in latencies)
    measured = replace(
        results(load([p50] * 51 + [p90] * 40 + [p99] * 10), model=model, engine=engine, degree=degree),
        version="0.1",
        instance_type=instance,
        batch=4,
        answer_tokens=256,
        start=Start("deploy", {"load": float(to_load)}),
    )
    write(measured, tmp_path)
    name = f"{model}, {engine} 0.1, {instance}, degree {degree}"
    line = " | ".join((name, "1 client", "4 x 256", to_load, *latencies, rate, "0"))
    assert f"| {line} |\n" in (tmp_path / "report.md").read_text()
    for cell in (to_load, *latencies, rate):
        assert f'<td class="number">{cell}</td>' in (tmp_path / "report.html").read_text()


def test_tokens_that_the_server_counted_go_before_those_that_were_asked_for() -> None:
    """A model may end before its limit; 4 sequences of 64 tokens in 2 s are 128 tokens per second."""
    (level,) = levels(results(load([2.0] * 5, answer_tokens=256), batch=4, answer_tokens=256))
    assert level.published_token_rate == 128
    assert "| 4 x 64 |" in markdown(results(load([2.0], answer_tokens=256), batch=4))


def test_times_of_a_stream_and_of_a_job() -> None:
    stream = MeasuredAnswer(0.0, 0.5, 2.5, answer_tokens=11)
    job = MeasuredAnswer(0.0, None, 10.0, queued_in_s=4.0, attempts=2, delivered_in_s=10.4)
    (level,) = levels(results(Load(1, None, 20.0, (stream,))))
    assert [level.percentile(metric, 50) for metric in ("ttft", "tpot", "total")] == [0.5, 0.2, 2.5]
    (level,) = levels(results(Load(1, None, 20.0, (job,))))
    assert [level.percentile(metric, 50) for metric in ("queued", "total", "ttft")] == [4.0, 10.4, None]
    assert level.percentile("delivery", 50) == pytest.approx(0.4)
    assert "further attempt: 1 " in markdown(results(Load(1, None, 20.0, (job,))))


def test_the_price_is_shared_by_the_tokens_of_an_hour() -> None:
    """36 USD an hour at 100 tokens out and 300 in each second: 360,000 and 1,440,000 tokens an hour."""
    fast = Load(
        1, None, 10.0, tuple(MeasuredAnswer(i, 0.1, 1.0, prompt_tokens=300, answer_tokens=100) for i in range(10))
    )
    measured = results(fast, usd_per_hour=36.0)
    assert "| 1 client | 1.00 | 300 | 100 | 100.00 | 25.00 |" in markdown(measured)
    without = markdown(replace(measured, usd_per_hour=None))
    assert "| 1 client | 1.00 | 300 | 100 | - | - |" in without
    assert "Without a price" in without


def test_a_tenth_of_failures_is_counted_by_code_and_left_out_of_latencies() -> None:
    measured = results(streamed(1, 100, clients=4, failing=10))
    assert "| 4 clients | 503 | 10 of 100 | 10 % |" in markdown(measured)
    assert "| whole answer | 90 |" in markdown(measured)
    assert "<b>10</b><span>of 100</span>" in page(measured)


def test_rounds_of_a_level_are_one_level() -> None:
    measured = results(load([1.0], clients=2), load([5.0], clients=4), load([3.0], clients=2))
    assert [(level.name, level.percentile("total", 50)) for level in levels(measured)] == [
        ("2 clients", 2.0),
        ("4 clients", 5.0),
    ]


@pytest.mark.parametrize(
    "measured",
    [
        results(),
        results(load([])),
        results(Load(2, None, 3.0, (MeasuredAnswer(0.0, error="503"),) * 5), slo="total_p90<1s"),
        results(load([0.25])),
        results(load([0.0])),
    ],
    ids=["no load", "no request", "failures", "one answer", "no time"],
)
def test_little_is_a_report_too(measured: Results, tmp_path: Path) -> None:
    measured = replace(measured, interrupted="Ctrl-C", usd_per_hour=None)
    write(measured, tmp_path)
    assert read(tmp_path) == measured
    for file in ("report.md", "report.html"):
        assert "Interrupted: Ctrl-C." in (tmp_path / file).read_text()
        assert not any(word in (tmp_path / file).read_text() for word in ("None", "nan", " inf"))


def test_the_stand_in_is_named_on_the_page_and_in_every_heading(tmp_path: Path) -> None:
    measured = results(
        streamed(1, 20, clients=1, failing=4),
        streamed(2, 20, rate=2.0),
        stand_in=True,
        region=None,
        slo="ttft_p90<1s",
        start=Start("zero", {"load": 2.0}),
    )
    write(measured, tmp_path)
    text, html = (tmp_path / "report.md").read_text(), (tmp_path / "report.html").read_text()
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) == 7
    assert all(line.endswith("(stand-in)") for line in headings)
    assert html.count("(stand-in)</h2>") == 7
    assert html.count("<figcaption>") == html.count("(stand-in)</figcaption>") == 6
    assert STAND_IN in text
    assert STAND_IN in html
    assert "USD per million" not in html.partition("<section")[0], "no price stands out"
    on_aws = replace(measured, stand_in=False, region="eu-west-1")
    assert "stand-in" not in markdown(on_aws) + page(on_aws).partition("<body>")[2]


def test_the_slo_is_answered_in_a_sentence_and_a_table() -> None:
    rates = [streamed(rate, 60, rate=float(rate)) for rate in (1, 2, 4, 8)]
    text = markdown(results(*rates, slo="ttft_p90<200ms,errors<1%"))
    assert "ttft_p90&lt;200ms,errors&lt;1% holds at 2 requests/s; it did not at 4 requests/s." in text
    assert re.search(r"\| 8 requests/s \| 3\d\d ms \| 0 % \| no \|", text)
    assert "The search was not finished" in text
    found = [streamed(seed, 60, rate=rate, slower=slower) for rate, slower in ((2, 1), (2.1, 3)) for seed in (1, 2)]
    assert "not finished" not in markdown(results(*found, slo="ttft_p90<200ms"))


def test_tokens_that_no_server_counted_are_told() -> None:
    told = "were not counted by the server"
    assert told not in markdown(results(load([1.0], answer_tokens=100)))
    assert f"Output tokens of 1 of 2 answers {told}" in markdown(results(load([1.0], answer_tokens=100), load([1.0])))


@pytest.mark.parametrize(
    ("measured", "remark"),
    [
        (results(streamed(1, 60, clients=4, failing=10)), "6 of 60 requests failed (503: 6); latencies"),
        (
            results(replace(load([1.0]), unfinished=3), interrupted="Ctrl-C"),
            "then, without 3 requests that were still",
        ),
        (results(load([1.0]), instances=(1, 3)), "instances went from 1 to 3, so rates"),
        (results(replace(load([1.0]), client_cores=0.9)), "process itself was busy at 1 client: its"),
    ],
)
def test_a_remark_is_wherever_the_figures_are(
    measured: Results, remark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(measured, tmp_path)
    show(measured, tmp_path / "report.html")
    for text in ((tmp_path / "report.md").read_text(), (tmp_path / "report.html").read_text(), capsys.readouterr().out):
        assert remark in text
    assert any(remark in warning for warning in compare(measured, measured).warnings)
    assert not list(remarks(results(replace(load([1.0]), client_cores=0.1))))


def test_names_are_text() -> None:
    measured = results(load([1.0]), model="<script>x</script>|`a`", deployment="a\nb", interrupted="<b>")
    assert "<script" not in page(measured)
    assert "&lt;script>x&lt;/script>\\|`a`" in markdown(measured)
    assert "# a b: " in markdown(measured)


def test_plots_are_drawn_of_what_was_measured() -> None:
    measured = results(
        *(streamed(clients, 20, clients=clients) for clients in (1, 4)),
        Load(16, None, 1.0, (MeasuredAnswer(0.0, error="503"),)),
    )
    drawn = list(plots(levels(measured)))
    assert [plot.caption for plot in drawn] == [
        "Whole answer, ms",
        "Time to first token, ms",
        "Output tokens/s",
    ]
    for plot in drawn:
        image = ElementTree.fromstring(svg(plot))
        assert len(image.findall("circle")) == 2 * len(plot.lines)
        labels = {text.text for text in image.findall("text")}
        assert {"1", "4", "16", "clients"} <= labels
    heights = [float(dot.get("cy", "")) for dot in ElementTree.fromstring(svg(drawn[0])).findall("circle")]
    assert heights[1] < heights[0], "more clients wait longer"


def test_the_terminal_shows_the_results_and_names_the_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = results(streamed(1, 20, clients=4, failing=10), stand_in=True, slo="ttft_p90<1s", interrupted="Ctrl-C")
    show(measured, tmp_path / "report.html")
    printed = capsys.readouterr().out
    for words in (
        STAND_IN,
        "LOAD (STAND-IN)",
        "Interrupted: Ctrl-C.",
        "2 of 20 requests failed",
        "held at no rate",
        f"report {tmp_path}",
    ):
        assert words in printed
    assert re.search(r"4 clients +18 of 20 +1\d\d +1,\d{3} +\d,\d{3} +\d,\d{3} +\d{3}\n", printed)
    show(replace(measured, stand_in=False), tmp_path / "report.html")
    assert "stand-in" not in capsys.readouterr().out.lower()


def test_the_terminal_shows_the_start_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"capacity": 120.0, "load": 41.7, "first_answer": 2.1}
    show(results(streamed(1, 20, clients=4), start=Start("zero", parts)), tmp_path / "report.html")
    printed = capsys.readouterr().out
    assert re.search(r"FROM ZERO +SECONDS\nuntil there is an instance +120\.0\n", printed)
    assert re.search(r"all of it +163\.8\nLOAD ", printed)
    show(results(streamed(1, 20, clients=4), start=Start("deploy", parts)), tmp_path / "report.html")
    assert "SECONDS" not in capsys.readouterr().out

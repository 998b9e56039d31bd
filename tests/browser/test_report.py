"""The report of a bench in a browser: readable at any width, light or dark, and without any request."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.conftest import watch
from browser.test_look import SCHEMES, violations
from slipway.measuring.figures.results import Load, MeasuredAnswer, Results, Start
from slipway.measuring.report.files import write
from slipway.measuring.report.tables import STAND_IN
from support.measured import load, results, streamed

EVIL = "<script>document.title = 'run'</script>\"'><img src=http://127.0.0.2/x>"
FULL = results(
    *(streamed(seed, 40, clients=clients, failing=10) for seed, clients in enumerate((1, 4, 16))),
    *(streamed(seed, 40, rate=rate) for seed, rate in enumerate((1.0, 2.0, 1.41))),
    start=Start("zero", {"capacity": 120.0, "load": 41.7}),
    slo="ttft_p90<120ms,tpot_p90<60ms,total_p99<30s,errors<50%",
)
RUNS = {
    "full": FULL,
    "stand-in": replace(FULL, stand_in=True, region=None, interrupted="Ctrl-C"),
    "evil": results(
        Load(1, None, 1.0, (MeasuredAnswer(0.0, error=EVIL),)), model=EVIL, deployment=EVIL, interrupted=EVIL
    ),
    "no request": results(load([]), versions={EVIL: EVIL}),
    "one load": results(load([1.0, 2.0])),
}


@pytest.fixture
def read_report(browser: Browser, troubles: list[str], tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the report of results as a file, as its readers do. `options`: those of Playwright's contexts."""
    contexts: list[BrowserContext] = []

    def read(measured: Results, **options: Any) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        watch(page, "", troubles)
        page.goto(write(measured, tmp_path).as_uri())
        return page

    yield read
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("name", RUNS)
def test_every_report_is_readable_and_narrow_enough(read_report: Callable[..., Page], name: str) -> None:
    # axe is a script, and the page's policy allows none.
    page = read_report(RUNS[name], viewport={"width": 360, "height": 740}, bypass_csp=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []


def test_plots_have_one_size_however_many_there_are(read_report: Callable[..., Page]) -> None:
    """Whole answers have no time to the first token, so their report has one plot fewer."""
    widths = []
    for measured in (results(streamed(1, 40, clients=1)), RUNS["one load"]):
        plots = read_report(measured, viewport={"width": 1400, "height": 900}).locator("figure")
        widths.append([box["width"] for each in plots.all() if (box := each.bounding_box())])
    assert [len(each) for each in widths] == [3, 2]
    assert len({width for each in widths for width in each}) == 1


def test_a_name_with_html_stays_text(read_report: Callable[..., Page]) -> None:
    page = read_report(RUNS["evil"], bypass_csp=True)  # so that the policy is not what stops it
    expect(page).to_have_title(f"{EVIL}: load test")
    assert page.locator("script, main img").count() == 0
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{EVIL}: load test")


def test_the_policy_would_stop_a_script_and_a_request(read_report: Callable[..., Page], troubles: list[str]) -> None:
    page = read_report(RUNS["one load"])
    page.evaluate("document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.2/x' }))")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), { text: 'document.title = 1' }))"
    )
    expect(page).to_have_title("qwen3-4b: load test")
    assert len([each for each in troubles if "Content Security Policy" in each]) == 2
    troubles.clear()


def test_the_stand_in_is_named_before_any_figure(read_report: Callable[..., Page]) -> None:
    expect(read_report(RUNS["stand-in"]).locator("main > :first-child")).to_have_text(STAND_IN)
    assert "stand-in" not in read_report(FULL).locator("body").inner_text()


def test_dark_and_light_follow_the_reader_as_in_the_playground(read_report: Callable[..., Page]) -> None:
    """The lines of the plots follow it, too."""
    ask = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.p50')).stroke]"
    colours = [read_report(FULL, color_scheme=scheme).evaluate(ask) for scheme in SCHEMES]
    assert colours == [["rgb(242, 245, 246)", "rgb(13, 110, 110)"], ["rgb(12, 21, 24)", "rgb(92, 208, 189)"]]

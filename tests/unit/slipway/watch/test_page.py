"""The page of `status --watch`: what it says, what it shows in red, and how it fits narrow terminals."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from slipway.reports.figures import Figures
from slipway.watch.page import Page, chart, rows

QUIET: dict[str, Any] = {
    "stack": "UPDATE_COMPLETE",
    "endpoint": {"name": "chat-1a2b3c4d", "status": "InService"},
    "instances": {"current": 1, "desired": 1, "types": {"ml.g6.xlarge": 1}},
    "queue": {"waiting": 0, "in_flight": 0, "dead_letters": 0},
    "open_jobs": 0,
    "alarms": [],
    "failure": None,
    "local_cloud": None,
    "gauges": {
        "requests": [None, 2.0, 4.0],
        "server_errors": [None, 0.0, 0.0],
        "caller_errors": [None, 0.0, 1.0],
        "gateway_p50_in_s": [None, 0.25, None],
        "gateway_p99_in_s": [None, 12.0, None],
        "gpu_in_percent": [None, None, None],
    },
    "month": "2026-11",
    "cost": Figures(1.5, 20.25, 6, 1000, 200).content,
    "basis": "13.5 h of ml.g6.xlarge at 1.5 USD",
    "callers": [{"name": "team-a", "requests": 6, "tokens": 1200}],
}


def told(**changes: Any) -> dict[tuple[str, str], str]:
    return {(row.question, row.label): row.text for row in rows(QUIET | changes)}


def red(**changes: Any) -> set[str]:
    return {row.label for row in rows(QUIET | changes) if row.is_bad}


def test_each_question_has_an_answer() -> None:
    found = told()
    assert found["up?", "endpoint"] == "InService, 1 of 1 instances"
    assert found["up?", "requests"] == "6 in 15 minutes: 0 failed, 1 refused"
    assert found["fast?", "gateway"] == "p50 250 ms, p99 12.0 s", "of the newest minute with a value"
    assert found["full?", "GPU"] == "-"
    assert found["jobs?", "queue"] == "0 waiting, 0 in flight"
    assert found["cost?", "now"] == "1.50 USD an hour"
    assert found["cost?", "2026-11"] == "20.25 USD until now (13.5 h of ml.g6.xlarge at 1.5 USD)"
    assert found["who?", "all"] == "6 requests, 1,200 tokens in 2026-11"
    assert found["who?", "team-a"] == "6 requests, 1,200 tokens"


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"stack": "UPDATE_ROLLBACK_COMPLETE"}, "stack"),
        ({"endpoint": {"name": "chat-1a2b3c4d", "status": "Failed"}}, "endpoint"),
        ({"gauges": QUIET["gauges"] | {"server_errors": [None, 1.0, None]}}, "requests"),
        ({"alarms": [{"name": "chat-latency", "meaning": "it is slow", "runbook": ""}]}, "alarm"),
        ({"queue": QUIET["queue"] | {"dead_letters": 1}}, "dead letters"),
        ({"failure": {"reason": "no capacity", "cause": "", "lines": []}}, "failure"),
        ({"machines": [], "machines_wanted": 1}, "machines"),
    ],
)
def test_a_line_to_look_at_is_red(changes: dict[str, Any], label: str) -> None:
    assert red() == set()
    assert red(**changes) == {label}


@pytest.mark.parametrize("callers", ["AWS does not allow Scan: no", []])
def test_what_could_not_be_asked_is_told_in_its_place(callers: Any) -> None:
    shown = told(callers=callers, cost=None, basis="AWS does not allow GetMetricData: no")
    assert shown["cost?", ""] == "AWS does not allow GetMetricData: no"
    assert shown.get(("who?", ""), "") == (callers or "")


def test_a_stack_whose_queue_is_gone_still_has_a_page() -> None:
    shown = told(queue="gone", open_jobs="gone", endpoint=None)
    assert (shown["jobs?", "open"], shown["jobs?", "queue"]) == ("the table is gone", "gone")


def test_jobs_in_sagemakers_own_queue_are_shown() -> None:
    shown = told(queue={"waiting": 1, "in_flight": 0, "dead_letters": 0, "backlog": 1200})
    assert shown["jobs?", "queue"] == "1,200 wait in SageMaker's queue; results: 1 waiting, 0 in flight"


def test_a_chart_rises_from_zero_and_leaves_gaps() -> None:
    assert chart([None, 0.0, 2.0, 4.0], "_-^") == " _-^"
    assert chart([0.0, 0.0], "_-^") == "__"
    assert chart([None, None], "_-^") == ""


@pytest.mark.parametrize("columns", [30, 79, 80, 200])
def test_the_page_fits_and_shows_every_line(columns: int) -> None:
    text = StringIO()
    Console(file=text, width=columns, height=100).print(Page(["chat: gpt2 on tgi"], QUIET, "Rate exceeded."))
    shown = text.getvalue()
    assert max(map(len, shown.splitlines())) <= columns
    together = " ".join(shown.split())
    assert "Rate exceeded." in together
    assert {"up?", "fast?", "full?", "jobs?", "cost?", "who?", "dead", "team-a"} <= set(together.split())
    assert ("█" in shown) == (columns >= 80)


def test_a_terminal_that_is_too_low_is_told() -> None:
    def shown(height: int) -> list[str]:
        text = StringIO()
        Console(file=text, width=100, height=height).print(Page(["chat: gpt2 on tgi"], QUIET, ""))
        return [line.rstrip() for line in text.getvalue().splitlines()]

    whole = shown(100)
    assert shown(len(whole)) == whole
    assert shown(10) == [*whole[:9], f"A taller terminal shows {len(whole) - 9} more lines."]

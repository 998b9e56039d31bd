"""The page of `status --watch`, by question."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from slipway.operations.status import in_queue
from slipway.reports.figures import Figures
from slipway.watch.gauges import WINDOW, Readings
from slipway.watch.snapshot import Snapshot

_BARS = "▁▂▃▄▅▆▇█"
_MINUTES = int(WINDOW.total_seconds() // 60)
_WIDE = 80  # columns: below, each question has a line of its own
_BAD = "red"


class Row(NamedTuple):
    """A line of the page. series: values of a gauge, for a small chart. is_bad: somebody should look."""

    question: str
    label: str
    text: str
    series: Sequence[float | None] = ()
    is_bad: bool = False


class Page:
    """What rich draws: as wide and as high as the terminal is at the moment.

    head: lines above the snapshot. problem: why nothing newer is known; empty = it is the newest.
    """

    def __init__(self, head: Sequence[str], snapshot: Snapshot | None, problem: str) -> None:
        self._head, self._snapshot, self._problem = head, snapshot, problem

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(Group(*self._parts(options)), options.update(height=None))
        hidden = len(lines) - options.max_height
        if hidden > 0:
            more = Text(f"A taller terminal shows {hidden + 1} more lines.", style="bold")
            lines = [*lines[: options.max_height - 1], *console.render_lines(more, options.update(height=1))]
        for line in lines:
            yield from (*line, Segment.line())

    def _parts(self, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from (Text(line, style="bold", overflow="fold") for line in self._head)
        if self._problem:
            yield Text(self._problem, style=_BAD, overflow="fold")
        if self._snapshot is not None:
            found = list(rows(self._snapshot))
            yield _wide(found, options) if options.max_width >= _WIDE else _narrow(found)


def _wide(found: Sequence[Row], options: ConsoleOptions) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for ratio in (None, None, 1, None):
        grid.add_column(overflow="fold", ratio=ratio, no_wrap=ratio is None)
    for row, before in zip(found, ["", *(row.question for row in found)], strict=False):
        question = Text("" if row.question == before else row.question, style="bold")
        bars = _BARS if options.encoding.startswith("utf") else ""
        grid.add_row(question, row.label, _text(row), Text(chart(row.series, bars), style="cyan"))
    return grid


def _narrow(found: Sequence[Row]) -> Table:
    """A page without charts, on which each question has a line of its own."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row, before in zip(found, ["", *(row.question for row in found)], strict=False):
        if row.question != before:
            grid.add_row(Text(row.question, style="bold"))
        grid.add_row(row.label, _text(row))
    return grid


def _text(row: Row) -> Text:
    return Text(row.text, style=_BAD if row.is_bad else "")


def chart(series: Sequence[float | None], bars: str) -> str:
    """Draw a bar for each value, from zero to the largest; a space where there is none. bars: empty = draw nothing."""
    if not bars or all(each is None for each in series):
        return ""
    most = max((each for each in series if each is not None), default=0)
    steps = len(bars) - 1
    return "".join(" " if each is None else bars[round(each / most * steps) if most else 0] for each in series)


def rows(found: Snapshot) -> Iterator[Row]:
    """Yield the lines of a snapshot."""
    yield from _is_it_up(found)
    yield from _is_it_fast(found["gauges"])
    yield from _is_it_full(found)
    yield from _jobs(found)
    yield from _cost(found)
    yield from _users(found)


def _is_it_up(found: Snapshot) -> Iterator[Row]:
    up, gauges = "up?", found["gauges"]
    yield Row(up, "stack", found["stack"], is_bad="ROLLBACK" in found["stack"] or "FAILED" in found["stack"])
    if "machines" in found:
        states = [f"{each['id']} {each['state']}" for each in found["machines"]]
        machines = f"{len(states)} of {found['machines_wanted']}" + (f": {', '.join(states)}" if states else "")
        yield Row(up, "machines", machines, is_bad=len(states) < found["machines_wanted"])
    else:
        endpoint, count = found["endpoint"], found["instances"]
        shown = f"{endpoint['status']}, {count['current']} of {count['desired']} instances" if endpoint else "none"
        yield Row(up, "endpoint", shown, is_bad=bool(endpoint) and endpoint["status"] == "Failed")
    if component := found.get("component"):
        copies = component["copies"]
        yield Row(up, "model", f"{component['status']}, {copies['current']} of {copies['desired']} copies")
    if "requests" in gauges:
        failed, refused = sum_of(gauges["server_errors"]), sum_of(gauges["caller_errors"])
        counts = f"{sum_of(gauges['requests']):,} in {_MINUTES} minutes: {failed:,} failed, {refused:,} refused"
        yield Row(up, "requests", counts, gauges["requests"], is_bad=failed > 0)
    if not found["alarms"]:
        yield Row(up, "alarms", "none has gone off")
    for each in found["alarms"]:
        yield Row(up, "alarm", ": ".join(filter(None, (each["name"], each["meaning"]))), is_bad=True)
        if each["runbook"]:
            yield Row(up, "", f"-> {each['runbook']}")
    if failure := found["failure"]:
        yield Row(up, "failure", failure["cause"] or failure["reason"], is_bad=True)


def _is_it_fast(gauges: Readings) -> Iterator[Row]:
    for name, label in (("gateway", "gateway"), ("model", "model"), ("first_token", "first token")):
        half, slowest = gauges.get(f"{name}_p50_in_s"), gauges.get(f"{name}_p99_in_s")
        if half is not None and slowest is not None:
            text = f"p50 {_seconds(newest(half))}, p99 {_seconds(newest(slowest))}" if newest(half) is not None else "-"
            yield Row("fast?", label, text, slowest)
    if (rate := gauges.get("tokens_per_second_p50")) is not None:
        yield Row("fast?", "tokens/s", _number(newest(rate)), rate)


def _is_it_full(found: Snapshot) -> Iterator[Row]:
    gauges = found["gauges"]
    for name, label, unit in (
        ("requests_at_once", "in flight", " on the busiest copy"),
        ("gpu_in_percent", "GPU", " %"),
        ("gpu_memory_in_percent", "GPU memory", " %"),
    ):
        if (series := gauges.get(name)) is not None:
            value = newest(series)
            yield Row("full?", label, _number(value) + (unit if value is not None else ""), series)
    if (oldest := gauges.get("oldest_job_in_s")) is not None:
        yield Row("full?", "oldest job", _seconds(newest(oldest)), oldest)


def _jobs(found: Snapshot) -> Iterator[Row]:
    gauges, queue = found["gauges"], found["queue"]
    if found["open_jobs"] is not None:
        yield Row("jobs?", "open", "the table is gone" if found["open_jobs"] == "gone" else f"{found['open_jobs']:,}")
    if queue == "gone":
        yield Row("jobs?", "queue", "gone")
    elif queue:
        dead = queue["dead_letters"]
        yield Row("jobs?", "queue", in_queue(queue))
        yield Row("jobs?", "dead letters", f"{dead:,}", is_bad=dead > 0)
    if "jobs_ended" in gauges:
        ended, failed = sum_of(gauges["jobs_ended"]), sum_of(gauges["jobs_failed"])
        usual = f", p50 {_seconds(newest(gauges['job_p50_in_s']))}" if ended else ""
        counts = f"{ended:,} in {_MINUTES} minutes: {failed:,} failed{usual}"
        yield Row("jobs?", "ended", counts, gauges["jobs_ended"], is_bad=failed > 0)


def _cost(found: Snapshot) -> Iterator[Row]:
    if found["cost"] is None:
        yield Row("cost?", "", found["basis"], is_bad=True)
        return
    now, month, *_ = Figures.of(found["cost"]).cells
    on = "on AWS " if found["local_cloud"] else ""
    yield Row("cost?", "now", f"{on}{now} USD an hour")
    yield Row("cost?", found["month"], f"{on}{month} USD until now ({found['basis']})")


def _users(found: Snapshot) -> Iterator[Row]:
    if found["cost"] is not None:
        *_, requests, tokens = Figures.of(found["cost"]).cells
        yield Row("who?", "all", f"{requests} requests, {tokens} tokens in {found['month']}")
    callers: Any = found["callers"]
    if isinstance(callers, str):
        yield Row("who?", "", callers)
        return
    for each in callers:
        yield Row("who?", each["name"], f"{each['requests']:,} requests, {each['tokens']:,} tokens")


def newest(series: Sequence[float | None]) -> float | None:
    """Return the newest value; None = no minute has one."""
    return next((each for each in reversed(series) if each is not None), None)


def sum_of(series: Sequence[float | None]) -> int:
    """Return the sum of all minutes."""
    return round(sum(each for each in series if each is not None))


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.1f} s"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"

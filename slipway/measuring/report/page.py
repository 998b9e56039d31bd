"""A report as one HTML page that loads nothing: style, icon and plots are inside it."""

import base64
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from slipway.measuring.figures.level import Level, levels
from slipway.measuring.figures.results import Results
from slipway.measuring.figures.shown import NOTHING, dollars, milliseconds, number, seconds
from slipway.measuring.report.plots import plots, svg
from slipway.measuring.report.tables import (
    STAND_IN,
    ReportTable,
    all_tokens_rate,
    objective_sentence,
    place,
    remarks,
    tables,
    usd_per_million,
)

_PLAYGROUND = files("llm_hosting") / "playground"
# The page runs no script and loads nothing, even if a name holds HTML.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(results: Results) -> str:
    """The file's content. Names from outside are escaped."""
    found = levels(results)
    title = f"{results.deployment}: load test{' of the stand-in' if results.stand_in else ''}"
    lines = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f'<title>{escape(title)}</title>\n<link rel="icon" href="{_icon()}">',
        f"<style>\n{_style()}</style>\n</head>\n<body>",
        *_header(results),
        "<main>",
        *_banners(results),
        *_tiles(results, found),
        *_plots(results, found),
        *(line for index, table in enumerate(tables(results)) for line in _table(table, index)),
        "</main>\n</body>\n</html>",
    ]
    return "\n".join(lines) + "\n"


def _icon() -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode((_PLAYGROUND / 'icon.svg').read_bytes()).decode()}"


def _style() -> str:
    """The page's style, with the colours and the font of the playground's style sheet."""
    palette, _, _ = (_PLAYGROUND / "style.css").read_text().partition("* {")
    return palette + Path(__file__).with_name("report.css").read_text()


def _header(results: Results) -> Iterator[str]:
    about = f"{results.model} on {results.engine} {results.version}, {results.instance_type}, degree {results.degree}"
    kind = "wait" if results.stand_in else "good"
    yield f'<header><img src="{_icon()}" alt="" width="36" height="36">'
    yield f"<div><h1>{escape(results.deployment)}: load test</h1><p>{escape(about)}</p></div>"
    yield f'<p class="pill {kind}"><span aria-hidden="true"></span><b>{escape(place(results))}</b></p></header>'


def _banners(results: Results) -> Iterator[str]:
    if results.stand_in:
        yield f'<p class="banner stand-in">{STAND_IN}</p>'
    yield from (f'<p class="banner">{escape(remark)}</p>' for remark in remarks(results))


def _tiles(results: Results, found: list[Level]) -> Iterator[str]:
    """Return the figures at the top of the page, which most readers look for."""
    answered = [level for level in found if level.answered]
    if not answered:
        yield '<p class="banner">No request was answered: there are no latencies and no rates.</p>'
        return
    yield '<ul class="tiles">'
    yield from (
        f'<li class="card"><span>{label}</span><b>{value}</b><span>{escape(remark)}</span></li>'
        for label, value, remark in _key_figures(results, answered)
        if not value.startswith(NOTHING)
    )
    failed, asked = sum(sum(level.errors.values()) for level in found), sum(len(level.requests) for level in found)
    yield f'<li class="card"><span>Failed requests</span><b>{failed:,}</b><span>of {asked:,}</span></li></ul>'
    if results.slo:
        yield f'<p class="card"><b>{escape(objective_sentence(results))}</b></p>'


def _key_figures(results: Results, answered: list[Level]) -> Iterator[tuple[str, str, str]]:
    least, most = answered[0], max(answered, key=lambda level: level.token_rate or 0)
    yield "P50 of a whole answer", f"{milliseconds(least.percentile('total', 50))} ms", f"at {least.name}"
    yield "Output tokens/s", number(most.token_rate), f"most, at {most.name}"
    if results.start and "load" in results.start.parts:
        yield "Time to load", f"{seconds(results.start.parts['load'])} s", "the model, into memory"
    if not results.stand_in:
        rate = all_tokens_rate(most)
        yield "USD per million tokens", dollars(usd_per_million(results, rate)), f"in + out, at {most.name}"


def _plots(results: Results, found: list[Level]) -> Iterator[str]:
    yield '<div class="plots">'
    mark = " (stand-in)" if results.stand_in else ""
    for plot in plots(found):
        caption = escape(f"{plot.caption}, over {plot.axis}{mark}")
        yield f'<figure class="card"><figcaption>{caption}</figcaption>\n{svg(plot)}</figure>'
    yield "</div>"


def _table(table: ReportTable, index: int) -> Iterator[str]:
    name = f"table-{index}"
    yield f'<section class="card" aria-labelledby="{name}"><h2 id="{name}">{escape(table.title)}</h2>'
    yield f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}"><table>'
    if any(table.heading):
        cells = (
            f'<th scope="col"{_side(table, column)}>{escape(each)}</th>' for column, each in enumerate(table.heading)
        )
        yield f"<thead><tr>{''.join(cells)}</tr></thead>"
    yield "<tbody>"
    for first, group in groupby(table.rows, key=itemgetter(0)):
        rows = list(group)
        span = f' rowspan="{len(rows)}"' if len(rows) > 1 else ""
        name_cell = f'<th scope="{"rowgroup" if span else "row"}"{span}{_side(table, 0)}>{escape(first)}</th>'
        for row in rows:
            cells = (f"<td{_side(table, column)}>{escape(each)}</td>" for column, each in enumerate(row[1:], 1))
            yield f"<tr>{name_cell}{''.join(cells)}</tr>"
            name_cell = ""
    yield "</tbody></table></div>"
    if table.note:
        yield f'<p class="note">{escape(table.note).replace("*Out*", "<i>Out</i>")}</p>'
    yield "</section>"


def _side(table: ReportTable, column: int) -> str:
    if column >= table.left:
        return ' class="number"'
    return ' class="load"' if table.heading[column] == "Load" else ""

"""A report as Markdown: for a pull request or a wiki."""

from collections.abc import Iterator, Sequence

from slipway.measuring.figures.results import Results
from slipway.measuring.report.tables import STAND_IN, ReportTable, name_of, objective_sentence, place, remarks, tables


def markdown(results: Results) -> str:
    """The whole report, without the plots."""
    lines = [f"# {_plain(results.deployment)}: {_plain(name_of(results))}", "", f"Measured on {place(results)}."]
    if results.stand_in:
        lines += ["", f"> **{STAND_IN}**"]
    for remark in remarks(results):
        lines += ["", f"> {_plain(remark)}"]
    if results.slo:
        lines += ["", _plain(objective_sentence(results))]
    for table in tables(results):
        lines += ["", f"## {table.title}", "", *_table(table)]
        if table.note:
            lines += ["", table.note]
    return "\n".join(lines) + "\n"


def _table(table: ReportTable) -> Iterator[str]:
    yield _row([_plain(cell) for cell in table.heading])
    yield _row(["---" if column < table.left else "---:" for column in range(len(table.heading))])
    yield from (_row([_plain(cell) for cell in row]) for row in table.rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A name as plain text: it can't begin HTML, a cell or a line."""
    text = " ".join(text.split())
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|")):
        text = text.replace(sign, written)
    return text

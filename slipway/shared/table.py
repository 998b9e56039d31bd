"""Prints a table as wide as the terminal, or at a fixed width into a file or pipe, or returns it as lines."""

from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.table import Table

Rows = Sequence[Sequence[str]]
_UNLIMITED = 100_000  # characters


def print_table(header: Sequence[str], rows: Rows, *, right: Sequence[str] = (), width: int = 240) -> None:
    """Print a table. right: headers of the columns to align right. width: the width in a file or pipe.

    Rows that are longer than the width are folded.
    """
    console = _console()
    (console if console.is_terminal else _console(width)).print(_table(header, rows, right))


def table_lines(header: Sequence[str], rows: Rows, *, right: Sequence[str] = ()) -> list[str]:
    """Return the table's lines without a limit of width. header: empty = no header. right: as in `print_table`."""
    text = StringIO()
    _console(_UNLIMITED, text).print(_table(header, rows, right))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _console(width: int | None = None, file: TextIO | None = None) -> Console:
    # A cell's text is shown as it is: rich knows markup such as [red], and emojis such as :key:.
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def _table(header: Sequence[str], rows: Rows, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, show_header=bool(header))
    for name in header:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table

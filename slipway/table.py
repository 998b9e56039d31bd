"""A table on the terminal, or as plain columns where the output is no terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """right: the columns of numbers."""
    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # Into a file or a pipe: as wide as it needs, so that nothing is folded.
    (console if console.is_terminal else Console(highlight=False, width=240)).print(table)

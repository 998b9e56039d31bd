"""A table on the terminal, or as plain columns where the output is no terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), width: int = 240
) -> None:
    """right: the columns of numbers. width: of a file or pipe; longer rows are folded, as on a terminal."""
    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=width)).print(table)

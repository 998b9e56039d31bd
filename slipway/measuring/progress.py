"""How far a load test is, on a terminal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

Tell = Callable[[str, int | None, int | None], None]  # what is measured, and how many of how many requests are answered


@contextmanager
def progress() -> Iterator[Tell]:
    """A bar with the time left of what is measured now, on the terminal's error stream; nothing where that is a file.

    Clients tell of their answers from their threads.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        shown, lock = dict[str, TaskID](), threading.Lock()

        def tell(what: str, done: int | None, whole: int | None) -> None:
            with lock:
                if what not in shown:
                    for task in shown.values():
                        bars.remove_task(task)
                    shown.clear()
                    shown[what] = bars.add_task(what, total=whole)
                bars.update(shown[what], completed=done or 0, total=whole)

        yield tell

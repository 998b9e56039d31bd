"""Shows the progress of a load test on a terminal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

Tell = Callable[[str, int | None, int | None], None]  # the load's name, its answered requests, and all its requests


@contextmanager
def progress() -> Iterator[Tell]:
    """A progress bar with the time left, on the terminal's error stream; nothing if stderr is a file.

    Clients report their answers from their threads.
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

"""Progress of a staging: bars on a terminal, else a line per file."""

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from slipway.shared.sizes import size


class StagingProgress:
    """Counts bytes from many threads.

    to_download, to_send, total: in bytes; the total includes parts that S3 held before.
    """

    def __init__(self, *, to_download: int, to_send: int, total: int) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bars = Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal)
        self._is_plain = not console.is_terminal
        self._downloads = self._bars.add_task("from the Hub", total=to_download)
        self._uploads = self._bars.add_task("to S3", total=to_send)
        self._lock, self._total, self._sent = threading.Lock(), total, total - to_send

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def downloaded(self, count: int) -> None:
        self._bars.advance(self._downloads, count)

    def sent(self, count: int) -> None:
        with self._lock:
            self._sent += count
        self._bars.advance(self._uploads, count)

    def stored(self, path: str) -> None:
        """All parts of a file are in S3."""
        if self._is_plain:
            print(f"  {size(self._sent)} of {size(self._total)} in S3, {path} among it", flush=True)

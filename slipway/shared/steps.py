"""Shows the current step of a long command, and the seconds since its start."""

import shutil
import sys
import threading
import time

_TICK_IN_SECONDS = 0.2


class Steps:
    """Prints steps to stderr.

    On a terminal it rewrites one line as the seconds pass; otherwise it prints a line for each step.
    """

    def __init__(self) -> None:
        self._start, self._terminal, self._step = time.monotonic(), sys.stderr.isatty(), ""
        self._lock, self._ended = threading.Lock(), threading.Event()
        if self._terminal:
            threading.Thread(target=self._tick, daemon=True).start()

    def __call__(self, step: str) -> None:
        with self._lock:
            self._step = step
            if self._terminal:
                self._draw()
            else:
                print(self._line(), file=sys.stderr, flush=True)

    def detail(self, step: str) -> None:
        """Show a detail of the current step, on terminals only."""
        if self._terminal:
            self(step)

    def end(self) -> None:
        """Clear the line. A second call does nothing."""
        with self._lock:
            self._ended.set()
            if self._terminal:
                print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_IN_SECONDS):
            with self._lock:
                if self._step and not self._ended.is_set():
                    self._draw()

    def _draw(self) -> None:
        line = self._line()[: shutil.get_terminal_size().columns - 1]  # a wrapped line could not be erased
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def _line(self) -> str:
        return f"[{time.monotonic() - self._start:5.1f} s] {self._step}"

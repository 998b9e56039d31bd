"""Collects exactly the lines that an invocation logs.

MiniStack waits some milliseconds for them, which is too short on a busy machine. Here the process marks their end.
"""

import queue
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack

_runtime = ministack.internals(
    "ministack.core.lambda_runtime",
    "_PYTHON_WORKER_SCRIPT",
    "Worker._drain_stderr_bounded",
    "Worker._read_stderr",
)

MARK = "\x1ethe invocation is over\x1e"
_ANSWERED = "        _real_stdout.flush()\n\nrun()"
_LOOK_EVERY_SECONDS = 0.05


def lines_until_mark(worker: Any, may_wait: Callable[[], bool] = lambda: True) -> str:
    """The lines that the process has written, up to its mark, its end, or the moment when may_wait() is false."""
    lines: list[str] = []
    while True:
        has_ended = not (worker._stderr_thread and worker._stderr_thread.is_alive())
        try:
            line = worker._stderr_queue.get(timeout=0 if has_ended else _LOOK_EVERY_SECONDS)
        except queue.Empty:
            if has_ended or not may_wait():
                return "\n".join(lines)
            continue
        text = line.removesuffix(MARK)
        if text or text == line:
            lines.append(text)
        if text != line:
            return "\n".join(lines)


def install() -> None:
    """Make processes of functions without streaming print the mark at the end of an invocation, before its answer."""
    script = _runtime._PYTHON_WORKER_SCRIPT
    assert script.count(_ANSWERED) == 1
    mark = f"        print({MARK!r}, file=sys.__stderr__, flush=True)\n"
    _runtime._PYTHON_WORKER_SCRIPT = script.replace(_ANSWERED, mark + _ANSWERED)
    within_limits = _runtime.Worker._drain_stderr_bounded

    def drain(worker: Any, **limits: float) -> str:
        """limits: time limits for the lines of a failed start, which prints no mark."""
        return str(within_limits(worker, **limits)) if limits else lines_until_mark(worker)

    _runtime.Worker._drain_stderr_bounded = drain

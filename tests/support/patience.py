"""Waits for real work, such as the start of a process."""

import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

PATIENCE_IN_SECONDS = 120
T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str, seconds: float = PATIENCE_IN_SECONDS) -> T:
    """Call look() until it returns a value, and return that value; fail if none comes in time."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return found


def wait_for_event(event: threading.Event, what: str, process: subprocess.Popen[Any]) -> None:
    """Wait for an event that the process causes; fails with its output as soon as it has ended without."""

    def look() -> bool | None:
        has_ended = process.poll() is not None
        return event.wait(0.05) or has_ended or None

    wait_for(look, what)
    assert event.is_set(), f"{what} never came: {process.communicate()}"

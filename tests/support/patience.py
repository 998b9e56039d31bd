"""Waiting for real work, such as a process that starts."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_IN_SECONDS = 120
T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str, seconds: float = PATIENCE_IN_SECONDS) -> T:
    """The first value that look() gives; fails when it gives none in time."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return found

"""Tells every thread of the run to end, with the reason."""

import threading


class StoppedError(Exception):
    """The run ends: Ctrl-C, or a limit is reached. Everything is removed next; the message is the reason."""


class Stop:
    """Set once; from then on whoever waits with it raises StoppedError."""

    def __init__(self) -> None:
        self._event, self.reason = threading.Event(), ""

    def set(self, reason: str) -> None:
        if not self._event.is_set():
            self.reason = reason
            self._event.set()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise StoppedError if the run ends."""
        self.sleep(0)

    def sleep(self, seconds: float) -> None:
        """Wait so long. Raises StoppedError at once when the run ends."""
        if self._event.wait(seconds):
            raise StoppedError(self.reason)

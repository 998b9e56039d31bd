"""Says on standard error that a Hub is slow or asked again, in place of huggingface_hub's own warnings."""

import logging
import re
import sys
import threading
from time import monotonic
from urllib.parse import urlsplit

_FAULT = re.compile(r"(?:HTTP Error (?P<status>\d+)|'.*') thrown while requesting \w+ (?P<url>\S+)", re.DOTALL)
_WAIT = re.compile(r"(?:Retrying in|Waiting) (\d+)")
_RESUMED = re.compile(r"Error while downloading from (\S+): .*Trying to resume", re.DOTALL)
_NO_ANSWER = "gave no whole answer"
_ALIKE_IN_SECONDS = 1  # requests run side by side, and fail side by side
_lock = threading.Lock()
_last = ("", 0.0)


def say(url: str, text: str) -> None:
    """Print a line about the host, unless the same was just printed."""
    global _last
    line = f"{urlsplit(url).netloc} {text}"
    with _lock:
        now = monotonic()
        if line != _last[0] or now - _last[1] > _ALIKE_IN_SECONDS:
            print(line, file=sys.stderr, flush=True)
            _last = line, now


class AskingAgain(logging.Handler):
    """Reads the library's warnings: a fault, then the wait before the same thread asks again. Others are dropped."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._faults = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if fault := _FAULT.match(text):
            status = fault["status"]
            self._faults.last = fault["url"], f"answers {status}" if status else _NO_ANSWER
        elif (wait := _WAIT.search(text)) and (fault_before := getattr(self._faults, "last", None)):
            url, why = fault_before
            say(url, f"{why}: asking again in {wait[1]} s")
        elif resumed := _RESUMED.match(text):
            say(resumed[1], f"{_NO_ANSWER}: asking again")

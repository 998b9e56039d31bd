"""The functions' log: one JSON object a line."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from inference_api.shared.settings import logs_requests

_OF_CALLERS = ("bytes_in", "bytes_out", "caller")


def log(line: Mapping[str, Any]) -> None:
    """Write a line at once, so that threads do not mix theirs: CloudWatch reads metrics from whole lines only.

    A deployment with `logs.requests: none` tells nothing of callers.
    """
    if not logs_requests():
        line = {name: value for name, value in line.items() if name not in _OF_CALLERS}
    sys.stdout.write(json.dumps(line) + "\n")


def place_of(error: Exception) -> str:
    """Return class and place of an exception for the log; its text is left out, because it can quote a prompt."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "unknown"
    return f"{type(error).__name__} at {place}"

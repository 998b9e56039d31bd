"""The functions' log: one JSON object a line."""

import json
import sys
from collections.abc import Mapping
from typing import Any


def log(line: Mapping[str, Any]) -> None:
    """Write a line at once, so that threads do not mix theirs: CloudWatch reads metrics from whole lines only."""
    sys.stdout.write(json.dumps(line) + "\n")


def place_of(error: Exception) -> str:
    """Return class and place of an exception for the log; its text is left out, because it can quote a prompt."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "unknown"
    return f"{type(error).__name__} at {place}"

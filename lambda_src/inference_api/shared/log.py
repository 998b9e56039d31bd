"""The functions' log: one JSON object a line."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from inference_api.shared.settings import logs_requests
from inference_api.shared.tracing import trace_id

_OF_CALLERS = ("bytes_in", "bytes_out", "caller", "key")


def log(line: Mapping[str, Any]) -> None:
    """Write a line at once, so that threads do not mix theirs: CloudWatch reads metrics from whole lines only.

    A deployment with `logs.requests: none` tells nothing of callers. A traced one tells the trace.
    """
    if not logs_requests():
        line = {name: value for name, value in line.items() if name not in _OF_CALLERS}
    if trace := trace_id():
        line = {**line, "trace": trace}
    sys.stdout.write(json.dumps(line) + "\n")


def place_of(error: Exception) -> str:
    """Return class and place of an exception for the log, and what AWS refused, as code and operation.

    Its text is left out, because it can quote a prompt.
    """
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "unknown"
    answer = getattr(error, "response", None)  # of a ClientError: many codes have no class of their own
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    refused = f" ({code} of {getattr(error, 'operation_name', '?')})" if code else ""
    return f"{type(error).__name__}{refused} at {place}"

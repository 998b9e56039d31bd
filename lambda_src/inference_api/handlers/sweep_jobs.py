"""Every minute: whatever is due and may be stuck."""

from typing import Any

from inference_api.http import Event
from inference_api.jobs.service import job_service
from inference_api.jobs.sweeper import sweep
from inference_api.runtime import runtime

_SHARE_OF_TIME = 0.8


def handler(event: Event, context: Any) -> dict[str, int]:
    """Stops after four fifths of its time; what is left stays due for the next sweep."""
    now = runtime().now
    stop_at = now() + _SHARE_OF_TIME * context.get_remaining_time_in_millis() / 1000
    return {"looked_at": sweep(job_service(), lambda: now() < stop_at)}

"""The sweeper, called every minute."""

from typing import Any

from inference_api.http.gateway import Event
from inference_api.jobs.service import job_service
from inference_api.jobs.sweeper import sweep
from inference_api.shared.runtime import runtime

_SHARE_OF_TIME = 0.8


def handler(event: Event, context: Any) -> dict[str, int]:
    """Look at due jobs for 80 % of the function's time; the others stay due for the next sweep."""
    now = runtime().now
    stop_at = now() + _SHARE_OF_TIME * context.get_remaining_time_in_millis() / 1000
    return {"looked_at": sweep(job_service(), lambda: now() < stop_at)}

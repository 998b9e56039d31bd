"""The driver of batches, called every minute and for each batch that waits."""

from typing import Any

from inference_api.batches.service import driver
from inference_api.http.gateway import Event
from inference_api.shared.runtime import runtime

_SHARE_OF_TIME = 0.7


def handler(event: Event, context: Any) -> dict[str, int]:
    """Advance batches for 70 % of the function's time; the others stay due for the next call."""
    now = runtime().now
    stop_at = now() + _SHARE_OF_TIME * context.get_remaining_time_in_millis() / 1000
    named = (event.get("detail") or {}).get("batch")
    return {"steps": driver().advance_all([named] if named else [], lambda: now() < stop_at)}

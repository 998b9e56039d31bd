"""The tasks of each minute; a call runs one of them."""

from importlib import import_module
from typing import Any

from inference_api.http.gateway import Event
from inference_api.shared.log import log

MODULES = {
    "sweep_jobs": "inference_api.tasks.sweep_jobs",
    "advance_batches": "inference_api.tasks.advance_batches",
    "tend_machines": "inference_api.tasks.tend_machines",
}


def handler(event: Event, context: Any) -> dict[str, int]:
    """Run the task that the event names. The event of a waiting batch names none: it advances batches."""
    task = event.get("task", "advance_batches")
    # First, because Lambda's own log of a call that fails or times out has only the request's id.
    log({"task": task, "request_id": context.aws_request_id})
    done: dict[str, int] = import_module(MODULES[task]).handler(event, context)
    return done

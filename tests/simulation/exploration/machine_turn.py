"""One turn of the shipped worker on the only machine, as a step of the exploration."""

from typing import Any

from inference_api.jobs.service import job_service
from inference_api.machines.parts import machine_rows
from inference_api.machines.row import from_item
from inference_api.model.endpoint_client import EndpointClient
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings
from inference_api.worker.resident_worker import LONG_POLL, ResidentWorker

INSTANCE = "i-1"


class _Server(EndpointClient):
    """The model's server. It is ready at once, and is asked like the endpoint, with the same outcomes."""

    def is_ready(self) -> bool:
        return True

    def interrupt(self) -> None:
        """Do nothing: only trials interrupt a worker."""


def handler(event: Any, context: Any) -> dict[str, bool]:
    """Take one turn. row: the worker's own, in memory. boots: whether the process is new. Idle time ends at once."""
    current = runtime()
    worker = ResidentWorker(
        number=0,
        instance_id=INSTANCE,
        service=job_service(),
        rows=machine_rows(),
        queue=current.client("sqs", LONG_POLL),
        queue_url=job_settings().queue_url,
        server=_Server(current.client("sagemaker-runtime", LONG_POLL), "machine", clock=current.now),
        runtime=current,
        alongside=lambda work, beat, seconds: work(),
        idle_in_seconds=0,
        batch=1,
    )
    worker._row = from_item(0, event["row"])
    try:
        if event["boots"]:
            worker._register()
        return {"ended": worker._turn()}
    except PASSING_ERRORS:
        return {"ended": False}

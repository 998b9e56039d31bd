"""The tender, called every minute."""

from functools import cache
from typing import Any

from inference_api.http.gateway import Event
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.service import job_service
from inference_api.machines.ec2_instances import SEVERAL_TRIES
from inference_api.machines.parts import ec2_instances, machine_rows, starter
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings, machine_settings, settings
from inference_api.worker.tender import Tender
from inference_api.worker.tender_plan import TenderLimits


def handler(event: Event, context: Any) -> dict[str, int]:
    """Start a machine for waiting work, and stop machines without work. A stack without machines has nothing to do."""
    if not settings().endpoint_deployed:
        return {"started": 0, "stopped": 0}
    todo = tender().tend()
    return {"started": len(todo.starts), "stopped": len(todo.stops)}


@cache
def tender() -> Tender:
    """Return the tender of this deployment's machines, made on first use."""
    machines, service, times = machine_settings(), job_service(), job_settings().times
    assert isinstance(service.backend, QueueBackend)
    return Tender(
        service.table,
        service.backend,
        machine_rows(),
        ec2_instances(SEVERAL_TRIES),
        starter(SEVERAL_TRIES),
        times=times,
        limits=TenderLimits(
            idle=machines.idle_in_seconds,
            boot=machines.startup_timeout_in_seconds,
            attempt=times.invocation_timeout,
            batch=machines.batch,
        ),
        runtime=runtime(),
        deployment=job_settings().deployment,
    )

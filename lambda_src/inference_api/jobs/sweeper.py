"""The sweeper: looks at each due job, records results without a notification, hands over stuck jobs, ends late ones."""

import heapq
from collections.abc import Callable, Iterator
from itertools import takewhile

from inference_api.jobs.service import JobService
from inference_api.jobs.state import transitions
from inference_api.jobs.state.items import DUE_SHARDS
from inference_api.jobs.state.job import Job
from inference_api.shared.log import log, place_of
from inference_api.shared.runtime import runtime
from inference_api.shared.tracing import continued

# A look mostly waits for AWS. A client has ten connections.
_AT_ONCE = 8


class SweepFailedError(Exception):
    """Makes the invocation fail, which an alarm counts."""


def sweep(service: JobService, may_go_on: Callable[[], bool]) -> int:
    """Look at all due jobs, some side by side. Return their number. A job that fails does not hold up the others.

    Raises SweepFailedError if none could be handled.
    """
    handled: list[bool] = []

    def look(job_id: str) -> None:
        try:
            look_at(job_id, service)
        except Exception as error:
            log({"job": job_id, "cause": place_of(error)})
            handled.append(False)
        else:
            handled.append(True)

    due = takewhile(lambda _: may_go_on(), _due(service))
    runtime().side_by_side(look, due, _AT_ONCE)
    if handled and not any(handled):
        raise SweepFailedError
    return len(handled)


def look_at(job_id: str, service: JobService) -> None:
    """Look at a due job. Its next look is put off first, so that two sweepers do not do the same work."""
    started = runtime().now()
    job = service.table.get(job_id)
    if job is None:
        return
    with continued(job.trace):
        _look(job, started, service)


def _look(job: Job, started: float, service: JobService) -> None:
    job, mine = service.table.change(job, lambda row: transitions.look_again(row, runtime().now()))
    if not mine:
        return
    job = _take_results(job, started, service)
    if runtime().now() >= job.deadline:
        job = service.completion.expire(job)
    elif job.is_open:
        service.backend.tend(job)
    if not job.is_open and not job.announced:
        service.completion.announce(job)


def _due(service: JobService) -> Iterator[str]:
    """Yield the ids of the due jobs of all shards, the longest overdue first."""
    for _, job_id in heapq.merge(*(service.table.due(shard) for shard in range(DUE_SHARDS))):
        yield job_id


def _take_results(job: Job, started: float, service: JobService) -> Job:
    """Record the outputs and failures of attempts that may still run.

    started: a time before the row was read. A lease that was over by then was over before the bucket was searched.
    """
    if not (job.is_open or job.holds_slot):
        return job
    for attempt in job.running_attempts():
        if found := service.files.find_output(job, attempt):
            job = service.completion.succeed(job, *found, by_sweeper=True)
        else:
            job = service.backend.end_without_output(job, attempt, started)
        if not job.is_open and not job.holds_slot:
            break
    return job

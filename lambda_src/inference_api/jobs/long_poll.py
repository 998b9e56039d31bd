"""Long polling: hold a caller until the job ends."""

from collections.abc import Callable, Generator
from contextlib import suppress
from hmac import compare_digest

from inference_api.http.gateway import Request
from inference_api.jobs.state.job import QUEUED, Job, is_job_id
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.state.waiting_places import WaitingPlaces
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.runtime import Runtime

# A short interval is cheaper: holding the function costs more than reading.
READ_INTERVAL_IN_SECONDS = 0.23


def seconds_to_wait(request: Request, default: int, longest: int) -> int:
    """Return the query's `wait`, at most `longest`. Raises ApiError 400."""
    return request.whole_number("wait", 0, longest, default)


def retry_after(
    job: Job, now: float, *, asked: int, held: bool, until_ready: Callable[[], int] = lambda: 0
) -> int | None:
    """Return the seconds until the caller should ask again; None for a job that has ended.

    asked: seconds that the caller asked to wait. held: whether the caller was held. until_ready: returns the seconds
    until the model is likely to begin with a queued job.

    A caller that was held may ask again at once, one that found no place after 3 s. A caller that does not wait learns
    of the end within 5 % of the job's time, at least 1 and at most 30 s.
    """
    if not job.is_open:
        return None
    if held:
        return 0
    if job.state == QUEUED and (wait := until_ready()):
        return wait
    if asked:
        return 3
    return round(min(max((now - job.accepted_at) / 20, 1), 30))


class LongPoll:
    """Reads jobs for their owners, and holds the owners as long as there are places.

    while_held: the same table with a quick client, for the reads of a held caller.
    """

    def __init__(self, table: JobTable, runtime: Runtime, places: WaitingPlaces, *, while_held: JobTable) -> None:
        self._table, self._runtime, self._places, self._while_held = table, runtime, places, while_held

    def find(self, job_id: str, owner: str) -> Job:
        """Return a job. Raises one ApiError 404 for an id that is unknown, malformed, expired or another caller's."""
        job = self._table.get(job_id) if is_job_id(job_id) else None
        if job is None or not compare_digest(job.owner, owner):
            raise errors.job_not_found()
        return job

    def until_ended(self, job: Job, end: float) -> tuple[Job, bool]:
        """Return the job when it has ended, or at the time `end`, and whether the caller was held."""
        if self._runtime.now() >= end or not job.is_open:
            return job, False
        # Any answer is better than an error, above all right after the job was accepted.
        place = None
        with suppress(*PASSING_ERRORS):
            place = self._places.take(job.owner, end)
        if place is None:
            return job, False
        for row in self.follow(job, end, place):
            job = row
        return job, True

    def take_place(self, owner: str, end: float) -> str:
        """Take a place until `end`, for a caller whose request has no other answer than the job's.

        Raises ApiError 429 if no place is free, and botocore's errors.
        """
        place = self._places.take(owner, end)
        if place is None:
            raise errors.too_many_waiting()
        return place

    def leave(self, owner: str, place: str) -> None:
        """Free a place. If that fails, the place expires by itself."""
        with suppress(*PASSING_ERRORS):
            self._places.give_back(owner, place)

    def follow(self, job: Job, end: float, place: str) -> Generator[Job, None, None]:
        """Yield the job as it is, then after each read, until it has ended or the time is `end`.

        The place is freed at the end, or when the generator is closed after its first `next`.
        """
        try:
            yield job
            while job.is_open and self._runtime.now() + READ_INTERVAL_IN_SECONDS <= end:
                self._runtime.sleep(READ_INTERVAL_IN_SECONDS)
                with suppress(*PASSING_ERRORS):
                    # An eventually consistent read costs half, and may miss a new row.
                    job = self._while_held.get(job.id, consistent=False) or self._while_held.get(job.id) or job
                yield job
        finally:
            self.leave(job.owner, place)

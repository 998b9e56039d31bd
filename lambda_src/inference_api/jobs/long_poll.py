"""Holding a caller until the job ends: how often the row is read, how many may wait, when to come back."""

from hmac import compare_digest

from botocore.exceptions import BotoCoreError, ClientError

from inference_api.http import ApiError, Request
from inference_api.jobs.conditional_writes import TableBusyError
from inference_api.jobs.job import Job
from inference_api.jobs.table import JobTable
from inference_api.runtime import Runtime

LONGEST_WAIT_IN_SECONDS = 25
# Holding the function is what costs, not reading.
READ_INTERVAL_IN_SECONDS = 0.25
_WINDOW_IN_SECONDS = 30


def seconds_to_wait(request: Request, default: int) -> int:
    """The query's `wait`. Raises ApiError 400."""
    return request.whole_number("wait", 0, LONGEST_WAIT_IN_SECONDS, default)


def retry_after(job: Job, now: float, *, asked: int, held: bool) -> int | None:
    """In seconds: when a caller should ask again, None for a job that has ended.

    Who was held may come back at once. Who did not wait finds the end after at most a twentieth of the job's time.
    Who was not admitted should leave the others time to go.
    """
    if not job.is_open:
        return None
    if asked:
        return 0 if held else 3
    return round(min(max((now - job.accepted_at) / 20, 1), 30))


class LongPoll:
    """Reads jobs for their owners. Holds at most `most_waiting` new callers per half minute."""

    def __init__(self, table: JobTable, runtime: Runtime, most_waiting: int) -> None:
        self._table, self._runtime, self._most_waiting = table, runtime, most_waiting

    def find(self, job_id: str, owner: str) -> Job:
        """Raises the same ApiError 404 for an id that is unknown, malformed, expired or another caller's."""
        well_formed = len(job_id) == 32 and all(character in "0123456789abcdef" for character in job_id)
        job = self._table.get(job_id) if well_formed else None
        if job is None or not compare_digest(job.owner, owner):
            raise ApiError(404, "job_not_found", "There is no such job; it never existed, has expired or is not yours.")
        return job

    def until_ended(self, job: Job, end: float) -> tuple[Job, bool]:
        """The job at its end or at this time, and whether the caller was held."""
        if self._runtime.now() >= end or not job.is_open:
            return job, False
        try:
            if not self._admit():
                return job, False
            while job.is_open and self._runtime.now() + READ_INTERVAL_IN_SECONDS <= end:
                self._runtime.sleep(READ_INTERVAL_IN_SECONDS)
                # An eventually consistent read costs half; what it does not find may be there all the same.
                job = self._table.get(job.id, consistent=False) or self._table.get(job.id) or job
        except (BotoCoreError, ClientError, TableBusyError):
            return job, False  # what is known of the job is better than an error, above all right after its acceptance
        return job, True

    def _admit(self) -> bool:
        if not self._most_waiting:
            return False
        window = int(self._runtime.now() // _WINDOW_IN_SECONDS)
        expires_at = (window + 3) * _WINDOW_IN_SECONDS
        return self._table.admit(window, self._most_waiting, expires_at)

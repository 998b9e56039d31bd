"""The life of a job as pure functions: row -> next row, or None if the change is not allowed.

JobTable.change() reads the row, asks one of these functions, and writes if the row is still the one that it read. The
tests explore every order of these same functions.
"""

from dataclasses import replace

from inference_api.jobs.state.job import CANCELLED, EXPIRED, FAILED, QUEUED, RUNNING, SUCCEEDED, Job, Output
from inference_api.shared.job_times import JobTimes

MAX_ATTEMPTS = 3
# Longer than a function with a claim can run (90 s), with time for clocks that differ. A machine renews its lease.
LEASE_IN_SECONDS = 120
FIRST_LOOK_IN_SECONDS = 60
LONGEST_LOOK_IN_SECONDS = 900


def accept(job_id: str, owner: str, now: float, times: JobTimes) -> Job:
    """Return a new, queued job, which holds one of its owner's slots."""
    return Job(
        id=job_id,
        owner=owner,
        state=QUEUED,
        accepted_at=now,
        deadline=now + times.deadline,
        due_at=now + FIRST_LOOK_IN_SECONDS,
        version=1,
    )


def note_sent(job: Job, now: float) -> Job | None:
    """Note that the queue holds a message for the job."""
    return replace(job, sent_at=now) if job.state == QUEUED else None


def claim(job: Job, now: float, times: JobTimes) -> Job | None:
    """Claim the next attempt, before it is invoked. The worker must invoke and report before its lease is over."""
    if not job.is_open or job.attempts >= MAX_ATTEMPTS or job.refused or now > times.latest_start(job.deadline):
        return None
    newest_has_ended = job.attempts in job.ended
    if job.may_be_running and not newest_has_ended and (now < job.lease_until or job.marked == job.attempts):
        return None
    lease = now + LEASE_IN_SECONDS
    due_at = lease if job.due_at is None else min(job.due_at, lease)
    attempts = job.attempts + 1
    return replace(job, state=RUNNING, attempts=attempts, claimed_at=now, lease_until=lease, due_at=due_at)


def renew(job: Job, claimed: Job, now: float) -> Job | None:
    """Renew the lease of a worker that still works on its attempt. claimed: the row with its claim."""
    if (job.attempts, job.claimed_at) != (claimed.attempts, claimed.claimed_at):
        return None
    if job.attempts in job.ended or not _is_tended(job):
        return None
    return replace(job, lease_until=now + LEASE_IN_SECONDS)


def note_invoked(job: Job, attempt: int, output_key: str | None, failure_key: str | None) -> Job | None:
    """Note that the asynchronous endpoint has confirmed the attempt, which therefore can't be lost."""
    if not job.is_open or attempt != job.attempts or job.marked == attempt:
        return None
    return replace(job, marked=attempt, output_key=output_key, failure_key=failure_key)


def give_back(job: Job, attempt: int, now: float, times: JobTimes) -> Job | None:
    """Take back the claim of an attempt that certainly did not run (throttled, not ready). It does not count."""
    if attempt != job.attempts or attempt in job.ended or not _is_tended(job):
        return _end_attempt(job, attempt, now)
    return _conclude(_settle(replace(job, attempts=attempt - 1, lease_until=0), now), now, times)


def succeed(job: Job, output: Output, now: float, times: JobTimes) -> Job | None:
    """End the job with an output. Only the first one counts; it is final."""
    if job.is_open:
        return replace(_ended(job, SUCCEEDED, now, times), output=output, output_key=None, holds_slot=False)
    return _end_attempt(job, output.attempt, now)


def fail_attempt(
    job: Job, attempt: int, code: str, now: float, times: JobTimes, *, refused: bool = False
) -> Job | None:
    """End an attempt that will bring no output. refused: whether the model would refuse every other attempt, too.

    The job fails when no attempt can bring an output any more and none may be added.
    """
    changed = _end_attempt(job, attempt, now)
    if changed is None or not job.is_open:
        return changed
    changed = replace(changed, error_code=code, error_attempt=attempt, refused=job.refused or refused)
    return _conclude(changed, now, times)


def lose_attempt(job: Job, attempt: int, code: str, looked_at: float, times: JobTimes) -> Job | None:
    """End a worker's attempt that had no output, if its lease was over at `looked_at`.

    looked_at: a time before the bucket was searched. The worker had ended by then, so no output can come later.
    """
    if attempt != job.attempts or looked_at < job.lease_until:
        return None
    return fail_attempt(job, attempt, code, looked_at, times)


def cancel(job: Job, now: float, times: JobTimes) -> Job | None:
    """Cancel the job for its owner. While an attempt may run the model is busy with it, so the slot stays taken."""
    if not job.is_open:
        return None
    return replace(_ended(job, CANCELLED, now, times), holds_slot=job.may_be_running)


def expire(job: Job, now: float, times: JobTimes) -> Job | None:
    """End a job whose deadline has passed without an output. A cancelled job frees its slot."""
    if now < job.deadline:
        return None
    if job.is_open:
        return replace(_ended(job, FAILED if job.error_code else EXPIRED, now, times), holds_slot=False)
    return _rest(replace(job, holds_slot=False)) if job.holds_slot else None


def note_announced(job: Job) -> Job | None:
    """Note that the event of the job's end was sent."""
    return _rest(replace(job, announced=True)) if not job.is_open and not job.announced else None


def look_again(job: Job, now: float) -> Job | None:
    """Put off the sweeper's next look by the job's age, at least 1 and at most 15 minutes."""
    if job.due_at is None or job.due_at > now:
        return None
    if now >= job.deadline:
        return replace(job, due_at=now + FIRST_LOOK_IN_SECONDS)  # this sweeper may die before it ends the job
    pause = min(max(now - job.accepted_at, FIRST_LOOK_IN_SECONDS), LONGEST_LOOK_IN_SECONDS)
    due_at = min(now + pause, job.deadline)
    if job.may_be_running and now < job.lease_until:
        due_at = min(due_at, job.lease_until)
    return replace(job, due_at=due_at)


def _is_tended(job: Job) -> bool:
    """Whether an attempt's end matters: to an open job, or to the slot of a cancelled one."""
    return job.is_open or job.holds_slot


def _end_attempt(job: Job, attempt: int, now: float) -> Job | None:
    if attempt in job.ended or not 1 <= attempt <= job.attempts or not _is_tended(job):
        return None
    return _settle(replace(job, ended=job.ended | {attempt}), now)


def _settle(job: Job, now: float) -> Job:
    """Update a job after an attempt. If no other may run, an open job is queued and a cancelled one frees its slot."""
    if not job.is_open:
        return job if job.may_be_running else _rest(replace(job, holds_slot=False))
    soon = now + FIRST_LOOK_IN_SECONDS
    job = replace(job, due_at=soon if job.due_at is None else min(job.due_at, soon))
    return job if job.may_be_running else replace(job, state=QUEUED, sent_at=0)


def _conclude(job: Job, now: float, times: JobTimes) -> Job:
    """Fail a job with a known error once no attempt may bring an output any more and none may be added."""
    if not job.is_open or job.may_be_running or not job.error_code:
        return job
    if job.refused or job.attempts >= MAX_ATTEMPTS or now > times.latest_start(job.deadline):
        return replace(_ended(job, FAILED, now, times), holds_slot=False)
    return job


def _ended(job: Job, state: str, now: float, times: JobTimes) -> Job:
    return replace(
        job,
        state=state,
        ended_at=now,
        # A cancelled job's attempt may hold the slot until the deadline, and the row must not expire before it is
        # freed.
        expires_at=times.kept_until(max(now, job.deadline if state == CANCELLED else now), job.keep_until),
        due_at=now + FIRST_LOOK_IN_SECONDS,
    )


def _rest(job: Job) -> Job:
    """Take a job that has ended, is announced and holds no slot out of the sweeper's index."""
    return replace(job, due_at=None) if job.announced and not job.holds_slot else job

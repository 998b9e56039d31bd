"""The end of attempts and jobs: store the result, change the row once, count the end, announce it."""

import json
from collections.abc import Callable
from typing import Any

from inference_api.http.answer import Answer
from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import CANCELLED, EXPIRED, FAILED, SHOWN, SUCCEEDED, Job, Output, timestamp
from inference_api.jobs.state.table import JobTable
from inference_api.keys.key_usage import KeyUsage
from inference_api.keys.usage_row import KeyCharge, Update
from inference_api.model.token_counts import tokens_by_length, tokens_of
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import InvocationError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.log import log
from inference_api.shared.metrics import emit, emit_for_dashboard
from inference_api.shared.runtime import Runtime
from inference_api.shared.tracing import continued, subsegment

_METRICS = {SUCCEEDED: "JobsSucceeded", FAILED: "JobsFailed", EXPIRED: "JobsExpired", CANCELLED: "JobsCancelled"}


class Completion:
    """Ends attempts and jobs. No other code writes a final state."""

    def __init__(
        self,
        table: JobTable,
        events: Any,
        times: JobTimes,
        runtime: Runtime,
        deployment: str,
        usage: KeyUsage | None = None,
    ) -> None:
        self._table, self._events, self._times = table, events, times
        self._runtime, self._deployment, self._usage = runtime, deployment, usage

    def succeed(self, job: Job, output: Output, answer: Answer | None, *, by_sweeper: bool = False) -> Job:
        """End a job with an output in the bucket.

        answer: the answer in it; may be None if the table needs no copy.
        """
        now = self._runtime.now()  # the copy expires at the same second as the row
        kept_until = self._times.kept_until(now, job.keep_until)
        if answer and output.in_table and job.is_open:
            self._table.put_answer(job, output, answer, kept_until)
        job, _ = self._change(
            job, lambda row: transitions.succeed(row, output, now, self._times), by_sweeper=by_sweeper, answer=answer
        )
        return job

    def fail_attempt(self, job: Job, attempt: int, failure: InvocationError, *, by_sweeper: bool = False) -> Job:
        """Note that an attempt failed: the job fails with it, or waits for the next one."""
        self._put_error(job, attempt, failure)
        job, _ = self._change(
            job,
            lambda row: transitions.fail_attempt(
                row, attempt, failure.code, self._runtime.now(), self._times, refused=failure.refused
            ),
            by_sweeper=by_sweeper,
        )
        return job

    def lose_attempt(self, job: Job, attempt: int, looked_at: float) -> Job:
        """Note that a worker ended without an output.

        looked_at: when the bucket was searched. The attempt is lost only if its lease was over by then.
        """
        lost = errors.attempt_lost()
        self._put_error(job, attempt, lost)
        job, _ = self._change(
            job,
            lambda row: transitions.lose_attempt(row, attempt, lost.code, looked_at, self._times),
            by_sweeper=True,
        )
        return job

    def give_back(self, job: Job, attempt: int) -> Job:
        """Take back the claim of an attempt that certainly did not run. job: the row with that claim."""

        def decide(row: Job) -> Job | None:
            # After a write of unknown outcome, a claim of the same number may already belong to another worker.
            if row.attempts == attempt and row.claimed_at != job.claimed_at:
                return None
            return transitions.give_back(row, attempt, self._runtime.now(), self._times)

        return self._change(job, decide)[0]

    def cancel(self, job: Job) -> tuple[Job, bool]:
        """Cancel a job. Return its row afterwards, and whether this call has ended the job."""
        return self._change(job, lambda row: transitions.cancel(row, self._runtime.now(), self._times))

    def expire(self, job: Job) -> Job:
        """After the deadline: end an open job, or free the slot of a cancelled one."""
        job, _ = self._change(
            job, lambda row: transitions.expire(row, self._runtime.now(), self._times), by_sweeper=True
        )
        return job

    def announce(self, job: Job) -> Job:
        """Send the event of the job's end, at least once: if that fails, the sweeper repeats it."""
        assert job.ended_at is not None
        detail = {
            "id": job.id,
            "status": SHOWN[job.state],
            "owner": job.owner,
            "deployment": self._deployment,
            "created_at": timestamp(job.accepted_at),
            "ended_at": timestamp(job.ended_at),
        }
        entry = {"Source": "slipway", "DetailType": "Job Ended", "Detail": json.dumps(detail)}
        try:
            if self._events.put_events(Entries=[entry])["FailedEntryCount"]:
                log({"job": job.id, "cause": "refused at announcing"})
            else:
                job, _ = self._table.change(job, transitions.note_announced)
        except PASSING_ERRORS as error:
            log({"job": job.id, "cause": f"{type(error).__name__} at announcing"})
        return job

    def _change(
        self, job: Job, decide: Callable[[Job], Job | None], *, by_sweeper: bool = False, answer: Answer | None = None
    ) -> tuple[Job, bool]:
        was_open = False

        def decide_and_look(row: Job) -> Job | None:
            nonlocal was_open
            was_open = row.is_open
            return decide(row)

        job, changed = self._table.change(job, decide_and_look, lambda row: self._account(row, answer))
        if changed and was_open and not job.is_open:
            told: dict[str, Any] = {"status": SHOWN[job.state], "attempts": job.attempts, "by_sweeper": by_sweeper}
            with continued(job.trace), subsegment("end job", job=job.id, code=job.error_code, **told):
                self._count(job, answer, by_sweeper)
                if by_sweeper:
                    log({"job": job.id, "status": SHOWN[job.state], "code": job.error_code})
                job = self.announce(job)
        return job, changed

    def _count(self, job: Job, answer: Answer | None, by_sweeper: bool) -> None:
        assert job.ended_at is not None
        values = {
            "JobsEnded": 1,
            # A refused request is the caller's mistake.
            "JobFailed": int(job.state in (FAILED, EXPIRED) and not job.refused),
            "JobSeconds": round(job.ended_at - job.accepted_at, 3),
        }
        emit(self._deployment, job.ended_at, values | ({"JobsEndedBySweeper": 1} if by_sweeper else {}))
        prompt, completion = _taken(job, answer)
        counted = {"TokensIn": prompt, "TokensOut": completion}
        ended: dict[str, float] = {_METRICS[job.state]: 1}
        emit_for_dashboard(
            job.ended_at, ended | {name: count for name, count in counted.items() if count}, caller=job.owner
        )

    def _account(self, job: Job, answer: Answer | None) -> list[Update]:
        """Return the updates that replace an ended job's charge by the tokens it took; none if nothing is counted."""
        if self._usage is None or not job.tokens_in:
            return []
        charge = KeyCharge(job.owner, job.accepted_at, job.tokens_in, job.tokens_out)
        return self._usage.settlements(charge, *_taken(job, answer), failed=job.state in (FAILED, EXPIRED))

    def _put_error(self, job: Job, attempt: int, failure: InvocationError) -> None:
        """Store the error of an attempt. At the job's end it gets the time to live of the row."""
        if job.is_open:
            field = {"field": failure.field} if failure.field else {}
            error = {"code": failure.code, "message": failure.message} | field
            self._table.put_error(job, attempt, error, self._times.kept_until(job.deadline, job.keep_until))


def _taken(job: Job, answer: Answer | None) -> tuple[int, int]:
    """Return the tokens of prompt and answer that an ended job took."""
    prompt = job.tokens_in if job.attempts and not job.refused else 0
    if job.output is None:
        return prompt, 0
    said = tokens_of(answer.body) if answer else None
    by_length = tokens_by_length(job.output.size) if job.tokens_out else 0  # vectors are no tokens
    return (said[0] if said and said[0] is not None else job.tokens_in), (said[1] if said else by_length)

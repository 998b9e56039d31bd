"""Accepts jobs: stores the input and the row, and counts the job against its owner's limits."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from inference_api.http.gateway import Request
from inference_api.jobs.backends.backend import JobBackend
from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.job import Job
from inference_api.jobs.state.table import (
    JobExistsError,
    JobTable,
    KeyTakenError,
    LimitReachedError,
    OwnerCharge,
    Reservation,
)
from inference_api.jobs.state.transitions import accept
from inference_api.keys.key_usage import KeyUsage
from inference_api.keys.named_key import AuthorizedKey
from inference_api.keys.usage_row import KeyCharge
from inference_api.model.metered_call import check_model
from inference_api.model.request_body import answer_tokens, body_for_model, check_request_body
from inference_api.model.token_counts import most_tokens
from inference_api.openai.call import OpenAICall
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import ApiError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.log import log
from inference_api.shared.metrics import emit
from inference_api.shared.request_rules import RequestRules
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import Limits, dashboard_of
from inference_api.shared.tracing import subsegment

_LONGEST_KEY = 255
# The owner of the jobs that wake a model; it differs from every caller's hash.
_NOBODY = "wake"
# The smallest request, by the key of its prompt. A chat comes last: not every model has the template that it needs.
_SMALLEST: Mapping[str, Mapping[str, Any]] = {
    "prompt": {"prompt": ".", "max_tokens": 1},
    "inputs": {"inputs": ".", "parameters": {"max_new_tokens": 1}},
    "messages": {"messages": [{"role": "user", "content": "."}], "max_tokens": 1},
    "input": {"input": "."},
    "query": {"query": ".", "documents": ["."], "texts": ["."]},
}
_DAY_IN_SECONDS = 86_400


class Submission:
    """Accepts jobs. Raises ApiError for a request that is not accepted; then no job exists."""

    def __init__(
        self,
        table: JobTable,
        files: JobFiles,
        backend: JobBackend,
        *,
        rules: RequestRules,
        times: JobTimes,
        limits: Limits,
        runtime: Runtime,
        deployment: str,
        engine_serves: Callable[[], bool],
        usage: KeyUsage | None = None,
    ) -> None:
        self._table, self._files, self._backend, self._rules = table, files, backend, rules
        self._times, self._limits, self._runtime, self._deployment = times, limits, runtime, deployment
        self._engine_serves, self._usage = engine_serves, usage

    def submit(self, request: Request) -> Job:
        """Return the new job, or the one of the caller's idempotency key."""
        document = check_request_body(request.body, request.content_type, self._rules, self._engine_serves)
        tokens = self._tokens(document)
        owner = request.owner
        key, fingerprint = idempotency_key(request), sha256(request.body).hexdigest()
        earlier, gone = self._earlier(owner, key, fingerprint)
        if earlier:
            return earlier
        check_model(request, document)
        now = self._runtime.now()
        new_key = (key, fingerprint, gone) if key else None
        body = body_for_model(request.body, document, self._rules)
        job = self._charged(accept(self._runtime.new_id(), owner, now, self._times), document)
        try:
            return self._accept(job, body, tokens, new_key, request.key)
        except KeyTakenError:  # by the same caller, a moment ago
            earlier, _ = self._earlier(owner, key, fingerprint)
            if earlier is None:
                raise errors.key_in_use() from None
            return earlier
        except LimitReachedError as reached:
            raise self._refusal(reached.limit, now) from None

    def submit_line(
        self, job_id: str, owner: str, key: AuthorizedKey | None, call: OpenAICall, *, run_until: int, keep_until: int
    ) -> None:
        """Accept a line of a batch as a job, unless there is a job with its id.

        run_until: may only extend a job's usual deadline. keep_until: the row stays at least until then. Both are in
        seconds since the epoch. Lines may take only half of their owner's open jobs, and leave the others to other
        work.
        """
        tokens, now = self._tokens(call.document), self._runtime.now()
        job = self._charged(accept(job_id, owner, now, self._times), call.document)
        writer = f"{self._runtime.random.getrandbits(32):08x}"  # tells this call's own write from another's
        job = replace(job, writer=writer, deadline=max(job.deadline, float(run_until)), keep_until=keep_until)
        with subsegment("submit job", job=job.id) as segment:
            job = self._backend.claim_at_acceptance(replace(job, trace=segment.header))
            self._files.put_input(job.id, call.unstreamed())
            owner_charge = self._owner_charge(tokens, now)
            try:
                self._add(job, replace(owner_charge, open_jobs=max(1, owner_charge.open_jobs // 2)), None, key)
            except JobExistsError:
                return
            except LimitReachedError as reached:
                raise self._refusal(reached.limit, now) from None
            self._hand_over(job)

    def wake(self) -> None:
        """Submit a minimal job without an owner to wake the endpoint, unless one is already open.

        An asynchronous endpoint without instances starts one for a request in its queue. To set the number of instances
        would not do: Application Auto Scaling may change it back before the caller asks again.
        """
        body = next(json.dumps(_SMALLEST[key]).encode() for key in _SMALLEST if key in self._rules.bodies)
        last = self._table.find_key(_NOBODY, _NOBODY)
        job = self._table.get(last.job_id) if last else None
        if job and job.is_open:
            return
        # Both errors mean that the endpoint wakes anyway: another caller was quicker, or the last such job may still
        # run.
        with suppress(KeyTakenError, LimitReachedError):
            job = accept(self._runtime.new_id(), _NOBODY, self._runtime.now(), self._times)
            self._accept(job, body, 0, (_NOBODY, "", last and last.job_id))

    def _accept(
        self,
        job: Job,
        body: bytes,
        tokens: int,
        key: tuple[str, str, str | None] | None,
        named: AuthorizedKey | None = None,
    ) -> Job:
        """Store a job and hand it over. Raises KeyTakenError or LimitReachedError.

        key: the idempotency key, the fingerprint of the body, and the id of an expired job that had the key.
        """
        with subsegment("submit job", job=job.id) as segment:
            job = self._backend.claim_at_acceptance(replace(job, trace=segment.header))
            self._files.put_input(job.id, body)
            keep_until = int(job.deadline) + self._times.retention + _DAY_IN_SECONDS
            reservation = Reservation(key[0], key[1], keep_until, key[2]) if key else None
            self._add(job, self._owner_charge(tokens, job.accepted_at), reservation, named)
            self._hand_over(job)
            return job

    def _add(
        self, job: Job, owner_charge: OwnerCharge, reservation: Reservation | None, named: AuthorizedKey | None
    ) -> None:
        """Write the job's row, and charge its key in the same transaction."""
        if not (self._usage and job.tokens_in):
            self._table.add(job, owner_charge, reservation)
            return
        charge = KeyCharge(job.owner, job.accepted_at, job.tokens_in, job.tokens_out)
        self._usage.admit_job(charge, named, partial(self._table.add, job, owner_charge, reservation))

    def _hand_over(self, job: Job) -> None:
        emit(self._deployment, job.accepted_at, {"JobsAccepted": 1})
        try:
            self._backend.dispatch(job)
        except PASSING_ERRORS as error:
            # The job is accepted: the sweeper hands it over later.
            log({"job": job.id, "cause": f"{type(error).__name__} at dispatch"})

    def _charged(self, job: Job, document: Mapping[str, Any]) -> Job:
        if self._usage is None and dashboard_of() is None:
            return job
        tokens_in, tokens_out = most_tokens(document, self._rules)
        return replace(job, tokens_in=tokens_in, tokens_out=tokens_out)

    def _tokens(self, document: Mapping[str, Any]) -> int:
        most = self._limits.answer_tokens_per_day
        tokens = 0 if most is None else answer_tokens(document, self._rules)
        if most is not None and tokens > most:
            message = f"The body asks for {tokens} answer tokens; each caller has {most} a day. Ask for fewer."
            raise ApiError("invalid_parameter", message)
        return tokens

    def _earlier(self, owner: str, key: str | None, fingerprint: str) -> tuple[Job | None, str | None]:
        """Return the job of the key. If it has expired, return None and the job's id."""
        accepted = self._table.find_key(owner, key) if key else None
        if accepted is None:
            return None, None
        job = self._table.get(accepted.job_id)
        if job is None:
            return None, accepted.job_id
        if accepted.fingerprint != fingerprint:
            raise errors.idempotency_key_reused()
        return job, None

    def _owner_charge(self, tokens: int, now: float) -> OwnerCharge:
        day = datetime.fromtimestamp(now, UTC).date().isoformat()
        return OwnerCharge(self._limits.open_jobs, self._limits.answer_tokens_per_day, tokens, day)

    def _refusal(self, limit: str, now: float) -> ApiError:
        if limit == "open_jobs":
            return errors.too_many_open_jobs(self._limits.open_jobs)
        assert self._limits.answer_tokens_per_day is not None
        today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        midnight = today + timedelta(days=1)
        seconds = int(midnight.timestamp() - now)
        return errors.daily_tokens_exceeded(self._limits.answer_tokens_per_day, midnight, seconds)


def idempotency_key(request: Request) -> str | None:
    """Return the request's idempotency key. Raises ApiError 400 if it is too long, or not printable ASCII."""
    key = request.idempotency_key
    if key is None:
        return None
    if not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"Idempotency-Key: must have 1 to {_LONGEST_KEY} printable ASCII characters."
        raise ApiError("invalid_idempotency_key", message, field="Idempotency-Key")
    return key

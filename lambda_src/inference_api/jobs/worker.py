"""The worker: claim the job that a message names, ask the model, record the answer."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from inference_api.http.answer import Answer
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.service import JobService
from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import QUEUED, Job, is_job_id
from inference_api.model.token_counts import tokens_of
from inference_api.shared.errors import InvocationError
from inference_api.shared.log import log
from inference_api.shared.metrics import emit
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings
from inference_api.shared.sqs import Message
from inference_api.shared.tracing import UNTRACED, Segment, continued, subsegment

_FIRST_RETRY_IN_SECONDS = 15
_LONGEST_RETRY_IN_SECONDS = 600


class InvokableModel(Protocol):
    """The model as a worker calls it: an EndpointClient, or the model's server on this machine."""

    def invoke(self, body: bytes, segment: Segment = UNTRACED) -> Answer:
        """Return the model's answer. segment: is told of the call. Raises InvocationError."""
        ...


Holding = Callable[[Job], AbstractContextManager[object]]


def work_on(message: Message, service: JobService, model: InvokableModel, holding: Holding = nullcontext) -> None:
    """Handle one message. If this raises, the message comes back after a while.

    holding: makes a context of the claimed job's row; the worker asks the model inside it.
    """
    try:
        _work(message, service, model, holding)
    except Exception:
        received = int(message["attributes"]["ApproximateReceiveCount"])
        seconds = min(_FIRST_RETRY_IN_SECONDS * 2 ** (received - 1), _LONGEST_RETRY_IN_SECONDS)
        _queue(service).hide(message["receiptHandle"], seconds)
        raise


def job_of(message: Message) -> str:
    """Return the id of the message's job; empty for a message that is not ours."""
    return _read(message["body"])[0]


def _work(message: Message, service: JobService, model: InvokableModel, holding: Holding) -> None:
    job_id, waits = _read(message["body"])
    job = service.table.get(job_id) if job_id else None
    if job is None:
        emit(job_settings().deployment, runtime().now(), {"UnknownJobMessages": 1})
        return
    with continued(job.trace, "run_job", job=job.id):
        # Before the claim, so that a bucket that fails for a while costs no attempt.
        body = service.files.get_input(job.id)
        with subsegment("claim"):
            job, claimed = service.table.change(job, _claim)
        if claimed:
            with holding(job):
                _ask(job, body, waits, service, model)


def _claim(job: Job) -> Job | None:
    # Only a queued job: the sweeper ends an attempt whose worker died, after a search of the bucket for an output.
    return transitions.claim(job, runtime().now(), job_settings().times) if job.state == QUEUED else None


def _ask(job: Job, body: bytes, waits: int, service: JobService, model: InvokableModel) -> None:
    attempt = job.attempts
    try:
        with subsegment("model", remote=True, attempt=attempt) as segment:
            answer = model.invoke(body, segment)
            if segment.is_kept and (tokens := tokens_of(answer.body)):
                segment.note(prompt_tokens=tokens[0], completion_tokens=tokens[1])
    except InvocationError as error:
        log({"job": job.id, "cause": f"{error.code} at InvokeEndpoint", "aws": error.cause})
        if error.ran:
            job = service.completion.fail_attempt(job, attempt, error)
        else:
            job = service.completion.give_back(job, attempt)
        if job.state == QUEUED:
            _queue(service).dispatch_later(job, waits)
    else:
        with subsegment("record"):
            output = service.files.put_output(job.id, attempt, answer)
            service.completion.succeed(job, output, answer)


def _queue(service: JobService) -> QueueBackend:
    assert isinstance(service.backend, QueueBackend)
    return service.backend


def _read(body: str) -> tuple[str, int]:
    """Return the job's id, and how often the job has waited. The id is empty for a message that is not ours."""
    try:
        message: Any = json.loads(body)
        job_id, waits = message["job"], message["waits"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", 0
    ours = is_job_id(job_id) and type(waits) is int and waits >= 0
    return (job_id, waits) if ours else ("", 0)

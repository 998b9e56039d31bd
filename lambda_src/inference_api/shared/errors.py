"""The errors that functions answer with, and their texts, in the order of the statuses in error_codes.py.

Refusals of a body or a parameter (400, 413, 415) stand with their rules in request_body, generation_parameters,
strict_json, gateway and submission. The texts of API Gateway's own answers are in
llm_hosting/api/gateway_responses.py.
"""

import math
from datetime import datetime
from typing import Any

from inference_api.shared.container_words import (
    is_unknown_model,
    is_without_answer,
    length_refusal,
    sentence_of,
    status_of_engine,
)
from inference_api.shared.error_codes import STATUS_OF
from inference_api.shared.rate_limits import token_headers

# Statuses of a container that say nothing about the request. They are about access, the path or the time, or they are
# failures of DJL Serving and TGI.
_NOT_ABOUT_THE_REQUEST = (401, 403, 404, 405, 408, 424)

_MOST_WORDS_IN_BYTES = 1024

# The cause of a refusal by a component without copies.
NO_CAPACITY = "no capacity"

# Codes of requests that the model refuses.
_REFUSALS = ("rejected_by_model", "context_length_exceeded")


class ApiError(Exception):
    """An error that the caller gets as an answer.

    code: one of error_codes.py. status: of HTTP; None = the code's. message: for the caller, never logged. cause: for
    the log only. ran: whether the model may have worked on the request. headers: more headers of the answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        field: str | None = None,
        retry_after_in_seconds: int | None = None,
        cause: str | None = None,
        ran: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.field = status or STATUS_OF[code], code, message, field
        self.retry_after_in_seconds, self.cause, self.ran = retry_after_in_seconds, cause, ran
        self.headers = headers or {}

    @property
    def is_final(self) -> bool:
        """Whether clients of OpenAI must not repeat the request by themselves, because the model may run twice."""
        return self.ran or self.status in (500, 502, 504)

    def as_object(self) -> dict[str, Any]:
        """Return the error as callers see it: code, message and field, and `type` and `param` for OpenAI's clients."""
        shown = {"code": self.code, "message": self.message, "type": _type_of(self.status), "param": self.field}
        return shown | ({"field": self.field} if self.field else {})


class EngineRuleError(ApiError):
    """A refusal by a rule of this engine; another engine may accept the body."""


class InvocationError(ApiError):
    """A call of the model that brought no answer."""

    def __init__(self, code: str, message: str, *, ran: bool, **more: Any) -> None:
        super().__init__(code, message, ran=ran, **more)

    @property
    def refused(self) -> bool:
        """Whether the model would refuse the same request every time."""
        return self.code in _REFUSALS

    @property
    def failed(self) -> bool:
        """Whether the model failed or was not available. LMI answers 503 also if it has no worker left."""
        return self.code in ("model_error", "endpoint_not_ready") or (self.code, self.status) == ("model_busy", 503)

    @property
    def timed_out(self) -> bool:
        """Whether the model gave no answer in time; the caller may have asked for too much."""
        return self.code == "model_timeout"


_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def _type_of(status: int) -> str:
    return _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")


class BusyError(Exception):
    """Other calls keep changing the items that this one needs; nothing was written."""


def container_error(status: int | None, words: str) -> InvocationError:
    """Return the error for a failed call of the model's container.

    status: the container's; 0 if it gave none, None if SageMaker does not report it. words: the container's text.
    """
    cause = f"container {status}"
    if status == 0:
        # SageMaker answers in place of the container: it has waited for 60 s, or the container is gone.
        return container_exited(cause) if is_without_answer(words) else model_timeout(cause)
    status = status_of_engine(status, words)
    unknown_model, words = status == 404 and is_unknown_model(words), sentence_of(words)
    if status in (429, 503):  # LMI says 503 if its queue is full
        text = _with_words("The model is busy", words)
        return InvocationError("model_busy", text, status=status, ran=False, retry_after_in_seconds=2, cause=cause)
    # vLLM says 501 if the request asks for something that it does not implement.
    if unknown_model or status == 501 or (status and 400 <= status < 500 and status not in _NOT_ABOUT_THE_REQUEST):
        if length := length_refusal(words):
            return InvocationError("context_length_exceeded", _cut(length), ran=True, cause=cause)
        text, field = _with_words("The model refused the request", words), "model" if unknown_model else None
        return InvocationError("rejected_by_model", text, ran=True, cause=cause, field=field)
    return InvocationError("model_error", _with_words("The model failed", words), ran=True, cause=cause)


def key_expired() -> ApiError:
    text = "This API key has expired; ask the operator for a new one."
    return ApiError("invalid_api_key", text)


def token_expired() -> ApiError:
    challenge = {"www-authenticate": 'Bearer error="invalid_token"'}
    return ApiError("invalid_token", "This token has expired; get a new one of its issuer.", headers=challenge)


def model_not_found(model: str) -> ApiError:
    """Return the error for an unknown model, in OpenAI's words.

    A model that the key may not use gets the same error, so that a key does not learn which models there are.
    """
    text = f"The model `{model[:100]}` does not exist or you do not have access to it; see GET models."
    return ApiError("model_not_found", text, field="model")


def adapter_not_found(model: str) -> InvocationError:
    """Return the error for a model that an accepted request names and the deployment no longer has."""
    text = f"The model `{model[:100]}` does not exist; see GET models."
    return InvocationError("rejected_by_model", text, ran=False, field="model")


def job_not_found() -> ApiError:
    return ApiError("job_not_found", "There is no such job; it never existed, has expired or is not yours.")


def file_not_found() -> ApiError:
    return ApiError("file_not_found", "There is no such file; it never existed, has expired or is not yours.")


def batch_not_found() -> ApiError:
    return ApiError("batch_not_found", "There is no such batch; it never existed, has expired or is not yours.")


def batch_not_cancellable(status: str) -> ApiError:
    """Return the error for a batch that can't be cancelled. status: the batch's, as callers see it."""
    return ApiError("batch_not_cancellable", f"The batch is {status}; it can't be cancelled any more.")


def file_too_large(limit: int) -> ApiError:
    text = (
        f"The file is larger than {limit} bytes, the most that one upload takes: split it, and send a batch for each."
    )
    return ApiError("file_too_large", text, field="file")


def idempotency_key_reused() -> ApiError:
    text = "Idempotency-Key: an earlier request used this key with another body; send the same body, or another key."
    return ApiError("idempotency_key_reused", text, field="Idempotency-Key")


def job_ended(status: str) -> ApiError:
    """Return the error for a job that can't be cancelled. status: the job's, as callers see it."""
    return ApiError("job_ended", f"The job has already ended as {status} and can't be changed; read it with GET.")


def job_cancelled() -> ApiError:
    text = "The job of this request was cancelled before it had an answer."
    return ApiError("job_cancelled", text, ran=True)


def throttled(cause: str) -> InvocationError:
    text = "Too many requests for the model's endpoint; try again after the seconds in retry-after."
    return InvocationError("throttled", text, ran=False, retry_after_in_seconds=2, cause=cause)


def too_many_open_jobs(limit: int) -> ApiError:
    text = (
        f"You have {limit} open jobs, which is the limit of each caller; "
        "submit again when one of them has ended, or cancel one."
    )
    return ApiError("too_many_open_jobs", text, retry_after_in_seconds=10)


def too_many_waiting() -> ApiError:
    text = (
        "Too many callers wait for the end of a job; send the request again after the seconds in retry-after, "
        "or submit it with POST jobs, which does not wait."
    )
    return ApiError("too_many_waiting", text, retry_after_in_seconds=3)


def too_many_held(retry_after_in_seconds: int) -> ApiError:
    """Return the error for a stream without a place while the model starts. The model was asked to start."""
    text = (
        "The model does not run yet, and as many streams wait for it as the deployment allows (jobs.max_waiting, "
        "half of them for one caller); send the request again after the seconds in retry-after, or submit it with "
        "POST jobs."
    )
    return ApiError("too_many_waiting", text, retry_after_in_seconds=retry_after_in_seconds)


def daily_tokens_exceeded(limit: int, renews_at: datetime, seconds_until_then: int) -> ApiError:
    text = (
        f"With this job you would ask for more than {limit} answer tokens today, the limit of each caller; "
        f"the limit renews at {renews_at.isoformat().replace('+00:00', 'Z')}."
    )
    return ApiError("daily_tokens_exceeded", text, retry_after_in_seconds=max(1, seconds_until_then))


def tokens_exceeded(period: str, limit: int, renews_at: datetime, now: float) -> ApiError:
    """Return the error for a key at its limit. period: minute or month. now: seconds since the epoch."""
    text = (
        f"This key has used its {limit} tokens per {period}, including those reserved for open requests; "
        f"the limit renews at {renews_at.isoformat().replace('+00:00', 'Z')}."
    )
    seconds = max(1, math.ceil(renews_at.timestamp() - now))
    headers = token_headers(limit, 0, seconds)
    return ApiError(f"tokens_per_{period}_exceeded", text, retry_after_in_seconds=seconds, headers=headers)


def internal_error(cause: str) -> ApiError:
    text = "The service has failed internally; report the x-request-id of this response if it happens again."
    return ApiError("internal_error", text, cause=cause)


def endpoint_refused(cause: str) -> InvocationError:
    text = "The service is not allowed to call its model; ask the operator to look up this x-request-id in the log."
    return InvocationError("endpoint_refused", text, ran=False, cause=cause)


def container_exited(cause: str) -> InvocationError:
    text = "The model's container ended, or lost the request, before the end of its answer; send the request again."
    return InvocationError("model_error", text, ran=True, cause=cause)


def answer_not_text() -> ApiError:
    text = "The model's answer is not UTF-8 text and cannot be passed on; ask the operator to check the model."
    return ApiError("answer_not_text", text)


def answer_too_large() -> ApiError:
    text = "The model's answer is too large to pass on; ask for fewer tokens or send fewer prompts."
    return ApiError("answer_too_large", text)


def answer_not_openai() -> InvocationError:
    text = "The model's answer has neither choices nor a text; ask the operator to check the model, or POST generate."
    return InvocationError("model_error", text, ran=True, cause="no choices")


def answer_not_vectors() -> InvocationError:
    text = "The model's answer has no vector or score for each text; ask the operator to check the model."
    return InvocationError("model_error", text, ran=True, cause="no vectors")


def stream_broken() -> InvocationError:
    text = "The model's stream broke off before the end of its answer; send the request again."
    return InvocationError("model_error", text, ran=True, cause="stream broken")


def answer_of_job(code: str, job_id: str) -> ApiError:
    """Return the error for a job's answer that can't be passed on. code: answer_not_text or answer_too_large."""
    return ApiError(code, f"The model's answer can't be passed on here; GET jobs/{job_id} has it.")


def attempt_lost() -> InvocationError:
    return InvocationError("attempt_lost", "The worker that ran the job ended without a result.", ran=True)


def job_failed(code: str, message: str, field: str | None = None) -> ApiError:
    """Return the error for a caller who waits for a job that has failed."""
    return ApiError(code, message, status=400 if code in _REFUSALS else 502, field=field, ran=True)


def endpoint_not_deployed() -> ApiError:
    """Return the error for a stack without a model. It has no retry-after, because waiting does not help."""
    text = "The stack runs no model: ask its operator to set the parameter DeployEndpoint to true."
    return ApiError("endpoint_not_deployed", text)


def model_starting(retry_after_in_seconds: int, *, asked: bool) -> ApiError:
    """Return the error for a model that does not run yet. asked: whether it is starting."""
    state = "is starting" if asked else "sleeps, and could not be started now"
    text = (
        f"The model {state}; send the request again after the seconds in retry-after, or with stream: true or "
        "?wait=<seconds> (at most 840) to be held until it answers."
    )
    return ApiError("model_starting", text, retry_after_in_seconds=retry_after_in_seconds)


def copy_starting(retry_after_in_seconds: int) -> InvocationError:
    """Return the error for a call that met a model without copies. The model was asked to start."""
    error = model_starting(retry_after_in_seconds, asked=True)
    return InvocationError(
        error.code, error.message, ran=False, retry_after_in_seconds=retry_after_in_seconds, cause=NO_CAPACITY
    )


def model_not_started(reason: str) -> InvocationError:
    """Return the error for a model that SageMaker could not start. reason: SageMaker's; may be empty."""
    text = f"The model sleeps and could not be started: {reason.removesuffix('.') or 'SageMaker gives no reason'}"
    text += "; ask the operator to run slipway status, then send the request again."
    return InvocationError("model_not_started", text, ran=False, retry_after_in_seconds=60, cause="not started")


def still_starting(seconds: int, reason: str) -> ApiError:
    """Return the error at the end of a stream that was held for `seconds` while the model started."""
    because = f" ({reason})" if reason else ""
    text = f"The model has not started within {seconds} seconds{because}; send the request again in some minutes."
    return ApiError("model_starting", text, retry_after_in_seconds=60)


def daily_wakes_exceeded(limit: int, renews_at: datetime, now: float, reason: str) -> InvocationError:
    """Return the error for a model that sleeps after its last wake of the day.

    now: seconds since the epoch. reason: SageMaker's, if the last start failed; else empty.
    """
    failed = f" The last start failed: {reason.removesuffix('.')}." if reason else ""
    text = (
        f"The model sleeps, and its {limit} wakes of this day (hosting.wakes_per_day) are used up; they renew at "
        f"{renews_at.isoformat().replace('+00:00', 'Z')}.{failed} A job that is submitted with POST jobs waits for a "
        "wake, but not beyond its deadline."
    )
    seconds = max(1, math.ceil(renews_at.timestamp() - now))
    return InvocationError("daily_wakes_exceeded", text, ran=False, retry_after_in_seconds=seconds, cause=NO_CAPACITY)


def endpoint_not_ready(cause: str, *, ran: bool) -> InvocationError:
    text = "The model is not ready to answer; wait, then send the request again."
    return InvocationError("endpoint_not_ready", text, ran=ran, retry_after_in_seconds=10, cause=cause)


def endpoint_unreachable(cause: str, *, ran: bool) -> InvocationError:
    text = "The connection to the model failed before the end of its answer; send the request again."
    return InvocationError("endpoint_unreachable", text, ran=ran, retry_after_in_seconds=10, cause=cause)


def overloaded(cause: str) -> ApiError:
    text = "The service is overloaded; send the same request again after the seconds in retry-after."
    return ApiError("overloaded", text, retry_after_in_seconds=2, cause=cause)


def key_in_use() -> ApiError:
    text = "Another request with the same Idempotency-Key is under way; send this one again."
    return ApiError("try_again", text, retry_after_in_seconds=1)


def status_unknown(cause: str) -> ApiError:
    text = "The status of the endpoint is not known right now; try again after the seconds in retry-after."
    return ApiError("status_unknown", text, retry_after_in_seconds=5, cause=cause)


def model_timeout(cause: str | None = None) -> InvocationError:
    text = "The model did not end its answer in time; ask for fewer tokens or send a shorter prompt."
    return InvocationError("model_timeout", text, ran=True, cause=cause)


def deadline_exceeded() -> ApiError:
    text = "No attempt brought an answer before the job's deadline; send the request again, or ask the operator."
    return ApiError("deadline_exceeded", text)


def still_running(job_id: str) -> ApiError:
    text = f"The answer was not there in time; job {job_id} goes on, and GET jobs/{job_id} will have it."
    return ApiError("still_running", text)


def _with_words(text: str, words: str) -> str:
    """Append the container's words to a text. The caller may need them to mend the request; they are never logged."""
    cut = _cut(words)
    return f"{text}: {cut}" if cut else f"{text}."


def _cut(words: str) -> str:
    return words.encode(errors="replace")[:_MOST_WORDS_IN_BYTES].decode(errors="ignore")

"""The model behind its SageMaker endpoint: one attempt per call, and errors that say whose they are."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
    ReadTimeoutError,
)

from inference_api.http import ApiError
from inference_api.jobs.job import Result
from inference_api.runtime import ONE_ATTEMPT

# 1 + 25 s leave time to answer within the function's 28 s.
WHILE_CALLER_WAITS = ONE_ATTEMPT.merge(Config(read_timeout=25))

# Lambda takes 6 MB as JSON, in which the answer becomes a string; the rest is for status and headers.
MAX_ANSWER_BYTES = 6_000_000

# A frozen function does not see that the other side hung up, and a single attempt would end on the dead connection.
IDLE_LIMIT_IN_SECONDS = 20

# SSLError is none of them: a connection can break while the answer is read.
NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)

TOO_SLOW = "The model did not answer in time; ask for fewer tokens or send a shorter prompt."

# Statuses of a container that every repetition of the request would get.
REFUSED_BY_MODEL = (400, 413, 422)


class Answer(NamedTuple):
    """The model's own answer, unchanged, as text that can be passed on."""

    text: str
    content_type: str


class InvocationError(ApiError):
    """No answer came. `ran`: whether the model may have worked on the request."""

    def __init__(self, status: int, code: str, message: str, *, ran: bool, **more: Any) -> None:
        super().__init__(status, code, message, **more)
        self.message, self.ran = message, ran

    @property
    def refused(self) -> bool:
        """Whether the model would refuse the same request every time."""
        return self.code == "rejected_by_model"


class RuntimeClient(Protocol):
    """The part of botocore's `sagemaker-runtime` client that is called here."""

    def invoke_endpoint(self, **arguments: Any) -> Any: ...
    def close(self) -> None: ...


class EndpointClient:
    """Raises InvocationError for whatever keeps the model from answering."""

    def __init__(self, client: RuntimeClient, endpoint_name: str, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._endpoint_name = endpoint_name
        self._clock = clock
        self._used_at = clock()

    def invoke(self, body: bytes) -> Answer:
        """For a caller who waits for it; raises ApiError for an answer that can't be passed on, too."""
        return passed_on(*self.invoke_raw(body))

    def invoke_raw(self, body: bytes) -> Result:
        """For who stores it."""
        if self._clock() - self._used_at > IDLE_LIMIT_IN_SECONDS:
            self._client.close()
        try:
            response = self._client.invoke_endpoint(
                EndpointName=self._endpoint_name, Body=body, ContentType="application/json", Accept="application/json"
            )
            return Result(response["Body"].read(), response.get("ContentType") or "application/json")
        except ClientError as error:
            raise _refusal(error) from None
        except ReadTimeoutError:
            raise InvocationError(504, "model_timeout", TOO_SLOW, ran=True) from None
        except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
            sent = not isinstance(error, NEVER_SENT)
            raise _unavailable("endpoint_unreachable", type(error).__name__, ran=sent) from None
        finally:
            self._used_at = self._clock()


def passed_on(raw: bytes, content_type: str) -> Answer:
    """A container's answer as one of ours. Raises ApiError 502."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        message = "The model's answer is not UTF-8 text and cannot be passed on; ask the operator to check the model."
        raise ApiError(502, "answer_not_text", message) from None
    if len(json.dumps(text)) > MAX_ANSWER_BYTES:
        message = "The model's answer is too large to pass on; ask for fewer tokens or send fewer prompts."
        raise ApiError(502, "answer_too_large", message)
    # What a model writes must never run in a browser, so only JSON keeps its type.
    is_json = content_type.partition(";")[0].strip().lower() == "application/json"
    return Answer(text, content_type if is_json else "text/plain; charset=utf-8")


def _refusal(error: ClientError) -> InvocationError:
    """AWS's own texts go nowhere: they name accounts and resources, and can quote the body."""
    code = str(error.response["Error"].get("Code"))
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "ModelError":
        return _model_error(error.response)
    if code in ("ModelNotReadyException", "ValidationError") or status >= 500:
        return _unavailable("endpoint_not_ready", code, ran=status == 500)
    if code.startswith("Throttling") or status == 429:
        message = "Too many requests for the model's endpoint; try again after the seconds in retry-after."
        return InvocationError(429, "throttled", message, ran=False, retry_after_in_seconds=2, cause=code)
    message = "The service may not call its model; ask the operator, who finds the cause under this x-request-id."
    return InvocationError(502, "endpoint_refused", message, ran=False, cause=code)


def _model_error(response: Mapping[str, Any]) -> InvocationError:
    status = response.get("OriginalStatusCode")
    # The container's words: for its caller, who may need them to mend the request, and never for a log.
    words = str(response.get("OriginalMessage") or "").encode(errors="replace")[:1024].decode(errors="ignore")
    cause = f"container {status}"
    if status in REFUSED_BY_MODEL:
        return InvocationError(
            400, "rejected_by_model", f"The model refused the request: {words}", ran=True, cause=cause
        )
    if status == 0:  # SageMaker's own: it waits 60 s for a container, and then says so in the container's place
        return InvocationError(504, "model_timeout", TOO_SLOW, ran=True, cause=cause)
    if status == 429:
        message = f"The model is busy: {words}"
        return InvocationError(429, "model_busy", message, ran=False, retry_after_in_seconds=2, cause=cause)
    # A container whose queue is full says 503, as LMI does.
    return InvocationError(502, "model_error", f"The model failed: {words}", ran=status != 503, cause=cause)


def _unavailable(code: str, cause: str, *, ran: bool) -> InvocationError:
    message = "The model is not ready to answer; try again after the seconds in retry-after."
    return InvocationError(503, code, message, ran=ran, retry_after_in_seconds=10, cause=cause)

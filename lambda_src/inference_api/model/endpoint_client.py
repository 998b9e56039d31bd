"""The model's SageMaker endpoint: one attempt per call."""

import json
import os
import socket
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, Protocol

from botocore.config import Config
from botocore.eventstream import ParserError
from botocore.exceptions import (
    ClientError,
    ConnectionError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EventStreamError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
    ReadTimeoutError,
)
from urllib3.exceptions import HTTPError
from urllib3.exceptions import ReadTimeoutError as StreamReadTimeoutError

from inference_api.http.answer import Answer
from inference_api.shared import errors
from inference_api.shared.runtime import ONE_ATTEMPT
from inference_api.shared.time_budget import STREAM_READ
from inference_api.shared.tracing import UNTRACED, Segment

_CALL_LIMIT_IN_SECONDS = 65  # SageMaker itself ends a call after 60 s

# SageMaker ends a streamed answer after 8 min. A stream that breaks earlier has another cause.
_STREAM_LIMIT_IN_SECONDS = STREAM_READ - 10

# A frozen function does not notice that the other side hangs up, and the single attempt would fail on the dead
# connection.
IDLE_LIMIT_IN_SECONDS = 20

# Errors that prove that nothing was sent. SSLError does not: a connection can break while the answer is read.
NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)


def one_call(seconds: float = _CALL_LIMIT_IN_SECONDS) -> Config:
    """Return settings of a client that waits `seconds` for an answer, at most as long as SageMaker may take."""
    return ONE_ATTEMPT.merge(Config(read_timeout=min(seconds, _CALL_LIMIT_IN_SECONDS)))


def one_stream() -> Config:
    """Return settings of a client that reads streamed answers."""
    return ONE_ATTEMPT.merge(Config(read_timeout=STREAM_READ))


class Waker(Protocol):
    """Wakes a model that sleeps."""

    def demand_copy(self) -> None:
        """Raises InvocationError if no copy of the model runs."""
        ...

    def after_refusal(self, error: errors.InvocationError) -> errors.InvocationError:
        """Wake the model after a call was refused as not ready. Return the error for the caller."""
        ...


class EndpointClient:
    """Calls the model's endpoint.

    client: botocore's `sagemaker-runtime`. component: the inference component of the endpoint that holds the model;
    empty if the endpoint itself holds it. adapters: names of adapters, of which each has a component
    `<component>-<name>`: a body whose `model` is such a name goes there. names: those of the model itself; beside
    adapters others are refused. waker: of a model that sleeps. on_end: called at the end of each call, with its error
    or None.
    """

    def __init__(
        self,
        client: Any,
        endpoint_name: str,
        clock: Callable[[], float] = time.time,
        on_end: Callable[[errors.InvocationError | None], None] = lambda error: None,
        *,
        component: str = "",
        adapters: Collection[str] = (),
        names: Collection[str] = (),
        waker: Waker | None = None,
    ) -> None:
        self._client = client
        self._endpoint, self._component = endpoint_name, component
        self._adapters, self._names = adapters, names
        self._waker = waker
        self._clock = clock
        self._on_end = on_end
        self._used_at = clock()
        self._open: set[Any] = set()
        self._lock = RLock()

    def invoke(self, body: bytes, segment: Segment = UNTRACED) -> Answer:
        """Return the model's whole answer. segment: is told of the call. Raises InvocationError."""
        try:
            answer = self._invoke(body, segment)
        except errors.InvocationError as error:
            self._on_end(error)
            raise
        self._on_end(None)
        return answer

    @contextmanager
    def stream(self, body: bytes, segment: Segment = UNTRACED) -> Iterator[Iterator[bytes]]:
        """Provide the answer in parts, which are cut anywhere.

        The request is sent when the first part is asked for. Reading the parts raises InvocationError. on_end also gets
        an InvocationError that the reader raises in the block. segment: is told of the call.
        """
        parts, failure = self._stream(body, segment), None
        try:
            yield parts
        except errors.InvocationError as error:
            failure = error
            raise
        finally:
            parts.close()
            self._on_end(failure)

    def hang_up(self) -> None:
        """Close the connections of all open streams, so that the threads that read them stop waiting."""
        with self._lock, suppress(OSError, ValueError):
            for stream in self._open:
                with socket.socket(fileno=os.dup(stream.fileno())) as connection:
                    connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, body: bytes, segment: Segment) -> Generator[bytes, None, None]:
        call = self._addressed(body)
        self._prepare()
        started, stream = self._clock(), None
        try:
            response = self._client.invoke_endpoint_with_response_stream(
                **call, ContentType="application/json", Accept="application/json"
            )
            self._tell(segment, response)
            stream = response["Body"]
            with self._lock:
                self._open.add(stream._raw_stream)
            for event in stream:
                segment.note_first_byte()
                yield event["PayloadPart"]["Bytes"]
        except EventStreamError as error:
            raise _broken(error, self._clock() - started) from None
        except ClientError as error:
            raise self._refusal(error) from None
        except (ReadTimeoutError, StreamReadTimeoutError):
            raise errors.model_timeout() from None
        except (ConnectionError, HTTPClientError, HTTPError, OSError, ParserError) as error:
            sent = not isinstance(error, NEVER_SENT)
            raise errors.endpoint_unreachable(type(error).__name__, ran=sent) from None
        finally:
            if stream is not None:
                with self._lock:
                    self._open.discard(stream._raw_stream)
                    stream.close()
            self._used_at = self._clock()

    def _addressed(self, body: bytes) -> dict[str, Any]:
        """Return the parameters of a call: the model that a checked body asks for, and the body for it.

        Raises InvocationError for an adapter that is gone.

        SageMaker tells the container which adapter a component is; its name in `model` would be refused.
        """
        call: dict[str, Any] = {"EndpointName": self._endpoint, "Body": body}
        if not self._component:
            return call
        document = json.loads(body) if self._adapters else {}
        adapter = document.pop("model", None)
        if adapter not in self._adapters:
            if adapter and adapter not in self._names:
                raise errors.adapter_not_found(str(adapter))  # engines that take any name would let the model answer
            return call | {"InferenceComponentName": self._component}
        rest = json.dumps(document, ensure_ascii=False).encode()
        return call | {"InferenceComponentName": f"{self._component}-{adapter}", "Body": rest}

    def _prepare(self) -> None:
        if self._waker:
            self._waker.demand_copy()
        with self._lock:  # a call that begins beside this one must not close its connection
            now, used_at = self._clock(), self._used_at
            self._used_at = now
            if now - used_at > IDLE_LIMIT_IN_SECONDS:
                self._client.close()

    def _invoke(self, body: bytes, segment: Segment) -> Answer:
        call = self._addressed(body)
        self._prepare()
        try:
            response = self._client.invoke_endpoint(**call, ContentType="application/json", Accept="application/json")
            self._tell(segment, response)
            return Answer(response["Body"].read(), response.get("ContentType") or "application/json")
        except ClientError as error:
            raise self._refusal(error) from None
        except ReadTimeoutError:
            raise errors.model_timeout() from None
        except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
            sent = not isinstance(error, NEVER_SENT)
            raise errors.endpoint_unreachable(type(error).__name__, ran=sent) from None
        finally:
            self._used_at = self._clock()

    def _tell(self, segment: Segment, response: dict[str, Any]) -> None:
        segment.note(endpoint=self._endpoint, variant=response.get("InvokedProductionVariant"), status=200)

    def _refusal(self, error: ClientError) -> errors.InvocationError:
        refusal = _refusal(error)
        if self._waker and refusal.code == "endpoint_not_ready" and not refusal.ran:
            return self._waker.after_refusal(refusal)
        return refusal


def _broken(error: EventStreamError, seconds: float) -> errors.InvocationError:
    """Return the error for an event that ends a stream early.

    botocore drops the code that would tell SageMaker's time limit from a lost model, so the duration decides.
    """
    code = str(error.response["Error"].get("Code"))
    if code == "ModelStreamError":
        return errors.model_timeout(code) if seconds >= _STREAM_LIMIT_IN_SECONDS else errors.container_exited(code)
    return errors.endpoint_unreachable(code or "EventStreamError", ran=True)


def _refusal(error: ClientError) -> errors.InvocationError:
    """Return the error for a refusal, without AWS's text, which can name accounts and resources or quote the body."""
    code = str(error.response["Error"].get("Code"))
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "ModelError":
        original = error.response.get("OriginalStatusCode")
        # If the container gave no answer there are only AWS's words. They are read, but not passed on.
        words = error.response.get("OriginalMessage") or (
            error.response["Error"].get("Message") if original == 0 else ""
        )
        return errors.container_error(original, str(words or ""))
    if "no capacity" in str(error.response["Error"].get("Message")).lower():
        return errors.endpoint_not_ready(errors.NO_CAPACITY, ran=False)
    if code in ("ModelNotReadyException", "ValidationError") or status >= 500:
        # Only ServiceUnavailable (503) and a model that is not ready prove that nothing ran.
        return errors.endpoint_not_ready(code, ran=status >= 500 and status != 503)
    if code.startswith("Throttling") or status == 429:
        return errors.throttled(code)
    return errors.endpoint_refused(code)

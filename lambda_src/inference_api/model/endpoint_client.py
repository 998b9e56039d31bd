"""The model's SageMaker endpoint: one attempt per call."""

import os
import socket
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

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

_CALL_LIMIT_IN_SECONDS = 65  # SageMaker itself ends a call after 60 s

# SageMaker's own limit of a streamed answer is 8 min; a failure short of that is not about time.
_STREAM_LIMIT_IN_SECONDS = STREAM_READ - 10

# A frozen function does not see that the other side hung up, and a single attempt would end on the dead connection.
IDLE_LIMIT_IN_SECONDS = 20

# Without SSLError: a connection can break while the answer is read.
NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)


def one_call(seconds: float = _CALL_LIMIT_IN_SECONDS) -> Config:
    """Settings of a client that waits for an answer as long as SageMaker may take, or only so many seconds."""
    return ONE_ATTEMPT.merge(Config(read_timeout=min(seconds, _CALL_LIMIT_IN_SECONDS)))


def one_stream() -> Config:
    """Settings of a client that reads streamed answers."""
    return ONE_ATTEMPT.merge(Config(read_timeout=STREAM_READ))


class EndpointClient:
    """client: botocore's `sagemaker-runtime`. on_end: hears of the end of each call, with its error if it has one."""

    def __init__(
        self,
        client: Any,
        endpoint_name: str,
        clock: Callable[[], float] = time.time,
        on_end: Callable[[errors.InvocationError | None], None] = lambda error: None,
    ) -> None:
        self._client = client
        self._endpoint_name = endpoint_name
        self._clock = clock
        self._on_end = on_end
        self._used_at = clock()
        self._open: set[Any] = set()
        self._lock = Lock()

    def invoke(self, body: bytes) -> Answer:
        """Raises InvocationError."""
        try:
            answer = self._invoke(body)
        except errors.InvocationError as error:
            self._on_end(error)
            raise
        self._on_end(None)
        return answer

    @contextmanager
    def stream(self, body: bytes) -> Iterator[Iterator[bytes]]:
        """The answer in parts, cut anywhere; on_end also hears of an InvocationError that the reader finds in them.

        Nothing is sent until the first part is asked for. The parts raise InvocationError, the first as `invoke` does.
        """
        parts, failure = self._stream(body), None
        try:
            yield parts
        except errors.InvocationError as error:
            failure = error
            raise
        finally:
            parts.close()
            self._on_end(failure)

    def hang_up(self) -> None:
        """End the reads of streams in which other threads wait."""
        with self._lock, suppress(OSError, ValueError):
            for stream in self._open:
                with socket.socket(fileno=os.dup(stream.fileno())) as connection:
                    connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, body: bytes) -> Generator[bytes, None, None]:
        self._close_if_idle()
        started, stream = self._clock(), None
        try:
            response = self._client.invoke_endpoint_with_response_stream(
                EndpointName=self._endpoint_name, Body=body, ContentType="application/json", Accept="application/json"
            )
            stream = response["Body"]
            with self._lock:
                self._open.add(stream._raw_stream)
            for event in stream:
                yield event["PayloadPart"]["Bytes"]
        except EventStreamError as error:
            raise _broken(error, self._clock() - started) from None
        except ClientError as error:
            raise _refusal(error) from None
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

    def _close_if_idle(self) -> None:
        if self._clock() - self._used_at > IDLE_LIMIT_IN_SECONDS:
            self._client.close()

    def _invoke(self, body: bytes) -> Answer:
        self._close_if_idle()
        try:
            response = self._client.invoke_endpoint(
                EndpointName=self._endpoint_name, Body=body, ContentType="application/json", Accept="application/json"
            )
            return Answer(response["Body"].read(), response.get("ContentType") or "application/json")
        except ClientError as error:
            raise _refusal(error) from None
        except ReadTimeoutError:
            raise errors.model_timeout() from None
        except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
            sent = not isinstance(error, NEVER_SENT)
            raise errors.endpoint_unreachable(type(error).__name__, ran=sent) from None
        finally:
            self._used_at = self._clock()


def _broken(error: EventStreamError, seconds: float) -> errors.InvocationError:
    """The event that ends a stream early. botocore drops the code that tells the limit of time from a lost model."""
    code = str(error.response["Error"].get("Code"))
    if code == "ModelStreamError":
        return errors.model_timeout(code) if seconds >= _STREAM_LIMIT_IN_SECONDS else errors.container_exited(code)
    return errors.endpoint_unreachable(code or "EventStreamError", ran=True)


def _refusal(error: ClientError) -> errors.InvocationError:
    """AWS's own texts are dropped: they name accounts and resources, and can quote the body."""
    code = str(error.response["Error"].get("Code"))
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "ModelError":
        original = error.response.get("OriginalStatusCode")
        # Of a container without an answer there are only AWS's words, which are read and not passed on.
        words = error.response.get("OriginalMessage") or (
            error.response["Error"].get("Message") if original == 0 else ""
        )
        return errors.container_error(original, str(words or ""))
    if code in ("ModelNotReadyException", "ValidationError") or status >= 500:
        # Only ServiceUnavailable and a model that is not ready say that nothing ran.
        return errors.endpoint_not_ready(code, ran=status >= 500 and status != 503)
    if code.startswith("Throttling") or status == 429:
        return errors.throttled(code)
    return errors.endpoint_refused(code)

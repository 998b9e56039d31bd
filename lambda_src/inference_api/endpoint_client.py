"""The model's SageMaker endpoint: one attempt per call."""

import time
from collections.abc import Callable
from typing import Any

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

from inference_api import errors
from inference_api.answer import Answer
from inference_api.runtime import ONE_ATTEMPT

_CALL_LIMIT_IN_SECONDS = 65  # SageMaker itself ends a call after 60 s

# A frozen function does not see that the other side hung up, and a single attempt would end on the dead connection.
IDLE_LIMIT_IN_SECONDS = 20

# Without SSLError: a connection can break while the answer is read.
NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)


def one_call(seconds: float = _CALL_LIMIT_IN_SECONDS) -> Config:
    """Of a client that waits for an answer as long as SageMaker may take, or only so many seconds."""
    return ONE_ATTEMPT.merge(Config(read_timeout=min(seconds, _CALL_LIMIT_IN_SECONDS)))


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

    def invoke(self, body: bytes) -> Answer:
        """Raises InvocationError."""
        try:
            answer = self._invoke(body)
        except errors.InvocationError as error:
            self._on_end(error)
            raise
        self._on_end(None)
        return answer

    def _invoke(self, body: bytes) -> Answer:
        if self._clock() - self._used_at > IDLE_LIMIT_IN_SECONDS:
            self._client.close()
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
        return errors.endpoint_not_ready(code, ran=status == 500)
    if code.startswith("Throttling") or status == 429:
        return errors.throttled(code)
    return errors.endpoint_refused(code)

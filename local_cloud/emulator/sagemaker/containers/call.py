"""Calls a model container and reports the outcome as SageMaker does."""

import http.client
import select
import time
from collections.abc import Callable
from typing import NamedTuple

from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance

_TIMED_OUT = (
    "Your invocation timed out while waiting for a response from container primary. Review the latency metrics for "
    "each container in Amazon CloudWatch, resolve the issue, and try again."
)
# The wording is in aws/amazon-sagemaker-examples#2815, with the name of the endpoint, and in #4324.
_NO_ANSWER = (
    "Amazon SageMaker could not get a response from the {} endpoint. This can occur when CPU or memory utilization is "
    "high. To check your utilization, see Amazon CloudWatch. To fix this problem, use an instance type with more CPU "
    "capacity or memory."
)
_HALF_AN_ANSWER = "could not load the entire response body"
_LOOK_INTERVAL_IN_SECONDS = 0.05


class ContainerAwayError(Exception):
    """Nothing listens on the container's port, so the request did not reach the model."""


class ContainerAnswer(NamedTuple):
    """The container's answer; status 0 if it did not answer in time or ended before."""

    status: int
    content_type: str
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def error(self) -> str:
        """SageMaker's description of the failure, without the container's text."""
        side = "client" if 400 <= self.status < 500 else "server"
        return f"Received {side} error ({self.status}) from primary"


def call_container(
    instance: EndpointInstance,
    content_type: str | None,
    accept: str | None,
    body: bytes,
    is_over: Callable[[], bool],
    **more_headers: str,
) -> ContainerAnswer:
    """POST the body to the model and wait until it answers or is_over(); raises ContainerAwayError."""
    opened = open_answer(instance, content_type, accept, body, is_over, **more_headers)
    return opened if isinstance(opened, ContainerAnswer) else opened.whole()


class OpenAnswer(NamedTuple):
    """An answer whose body has not been read; `started` is a time of time.monotonic()."""

    response: http.client.HTTPResponse
    connection: http.client.HTTPConnection
    started: float

    @property
    def content_type(self) -> str:
        return self.response.headers.get("Content-Type", "application/octet-stream")

    def whole(self) -> ContainerAnswer:
        """Read the whole answer and close the connection."""
        try:
            return ContainerAnswer(self.response.status, self.content_type, self.response.read())
        except (OSError, http.client.HTTPException):
            return ContainerAnswer(500, "text/plain", _HALF_AN_ANSWER.encode())
        finally:
            self.connection.close()


def open_answer(
    instance: EndpointInstance,
    content_type: str | None,
    accept: str | None,
    body: bytes,
    is_over: Callable[[], bool],
    **more_headers: str,
) -> OpenAnswer | ContainerAnswer:
    """Like `call_container`, but returns once the answer begins; a ContainerAnswer if it does not begin."""
    connection = http.client.HTTPConnection("127.0.0.1", instance.port)
    started = time.monotonic()
    try:
        headers = {"Content-Type": content_type or "application/octet-stream", "Accept": accept or "*/*"}
        connection.request("POST", "/invocations", body, {**headers, **more_headers})
        answered = select.poll()  # select() fails for file descriptors above 1023
        answered.register(connection.sock, select.POLLIN)
        while not answered.poll(1000 * _LOOK_INTERVAL_IN_SECONDS):
            if is_over():
                connection.close()
                return ContainerAnswer(0, "text/plain", _TIMED_OUT.encode())
        try:
            return OpenAnswer(connection.getresponse(), connection, started)
        except (OSError, http.client.HTTPException):
            connection.close()
            return ContainerAnswer(0, "text/plain", _NO_ANSWER.format(instance.endpoint).encode())
    except ConnectionRefusedError as error:
        connection.close()
        raise ContainerAwayError from error
    except (OSError, http.client.HTTPException):
        connection.close()
        return ContainerAnswer(500, "text/plain", _HALF_AN_ANSWER.encode())

"""The model's server on this machine: the container contract, GET /ping and POST /invocations."""

import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Event

from inference_api.http.answer import Answer
from inference_api.shared import errors
from inference_api.shared.tracing import UNTRACED, Segment

HOST, PORT = "127.0.0.1", 8080
_PING_IN_SECONDS = 5
# systemd may end the model's server a moment before it ends this process.
_NOTICE_IN_SECONDS = 2
_MOST_WORDS_IN_BYTES = 65_536


class ModelServer:
    """Calls the model's server. answer_in_seconds: the longest time for one call."""

    def __init__(self, answer_in_seconds: float, port: int) -> None:
        self._answer_in_seconds, self._port = answer_in_seconds, port
        self._open: set[HTTPConnection] = set()
        self._interrupted = Event()

    def is_ready(self) -> bool:
        """Whether the server takes requests now."""
        connection = HTTPConnection(HOST, self._port, timeout=_PING_IN_SECONDS)
        try:
            connection.request("GET", "/ping")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def invoke(self, body: bytes, segment: Segment = UNTRACED) -> Answer:
        """Return the model's answer. Raises InvocationError; after interrupt() it says that the call did not run.

        segment: is told of the call.
        """
        connection = HTTPConnection(HOST, self._port, timeout=self._answer_in_seconds)
        try:
            connection.connect()
        except OSError as error:
            raise errors.endpoint_unreachable(type(error).__name__, ran=False) from None
        self._open.add(connection)
        try:
            if self._interrupted.is_set():
                raise _interrupted()
            answer = _answer(_ask(connection, body))
            segment.note(status=200)
            return answer
        except TimeoutError:
            raise errors.model_timeout() from None
        except (OSError, HTTPException) as error:
            if self._interrupted.wait(_NOTICE_IN_SECONDS):
                raise _interrupted() from None
            raise errors.container_exited(type(error).__name__) from None
        finally:
            self._open.discard(connection)
            connection.close()

    def interrupt(self) -> None:
        """End all calls, also new ones, as if they had not run, because the machine stops. Safe in a signal handler."""
        self._interrupted.set()
        # A call that begins after the copy sees the flag.
        for connection in self._open.copy():
            if connection.sock:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)


def _ask(connection: HTTPConnection, body: bytes) -> tuple[HTTPResponse, bytes]:
    headers = {"content-type": "application/json", "accept": "application/json"}
    connection.request("POST", "/invocations", body, headers)
    response = connection.getresponse()
    return response, response.read() if response.status == 200 else response.read(_MOST_WORDS_IN_BYTES)


def _answer(answered: tuple[HTTPResponse, bytes]) -> Answer:
    response, body = answered
    if response.status != 200:
        raise errors.container_error(response.status, body.decode(errors="replace"))
    return Answer(body, response.headers.get("content-type") or "application/json")


def _interrupted() -> errors.InvocationError:
    return errors.endpoint_not_ready("the machine goes down", ran=False)

"""The model's server on loopback: each way to end becomes the right error, over real sockets."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from inference_api.shared.errors import InvocationError
from inference_api.worker import model_server
from inference_api.worker.model_server import ModelServer


class _Server(ThreadingHTTPServer):
    """Answers with `status` and `body`, after it has waited for `go`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body = 200, b'[{"generated_text": "The sea is calm."}]'
        self.asked, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.breaks = False
        self.received: list[tuple[str, str, bytes]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, body: bytes) -> None:
        self.server.received.append((self.command, self.path, body))
        self.server.asked.set()
        self.server.go.wait(30)
        if self.server.breaks:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, so that the tests' output stays readable."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as running:
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        yield running
        running.go.set()
        running.shutdown()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "_NOTICE_IN_SECONDS", 0)


def failure(client: ModelServer) -> InvocationError:
    with pytest.raises(InvocationError) as caught:
        client.invoke(b"{}")
    return caught.value


def test_an_answer_is_passed_on_as_it_came(server: _Server) -> None:
    answer = ModelServer(10, server.server_port).invoke(b'{"prompt": "The sea"}')
    assert (answer.body, answer.content_type) == (server.body, "application/json")
    assert server.received == [("POST", "/invocations", b'{"prompt": "The sea"}')]


@pytest.mark.parametrize(
    ("status", "code", "ran"),
    [
        (400, "rejected_by_model", True),
        (413, "rejected_by_model", True),
        (422, "rejected_by_model", True),
        (429, "model_busy", False),
        (503, "model_busy", False),
        (500, "model_error", True),
        (404, "model_error", True),
    ],
)
def test_a_status_means_what_it_means_of_a_container(server: _Server, status: int, code: str, ran: bool) -> None:
    server.status, server.body = status, b'{"error": "words"}'
    error = failure(ModelServer(10, server.server_port))
    assert (error.code, error.ran) == (code, ran)
    assert "words" in error.message


def test_without_a_server_nothing_ran() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = ModelServer(10, unused.getsockname()[1])
        assert not client.is_ready()
        error = failure(client)
    assert (error.code, error.ran) == ("endpoint_unreachable", False)


def test_a_connection_that_breaks_in_the_call_is_an_attempt(server: _Server) -> None:
    server.breaks = True
    error = failure(ModelServer(10, server.server_port))
    assert (error.code, error.ran, error.refused) == ("model_error", True, False)


def test_a_model_that_is_too_slow_has_had_its_attempt(server: _Server) -> None:
    server.go.clear()
    error = failure(ModelServer(0.05, server.server_port))
    assert (error.code, error.ran) == ("model_timeout", True)


@pytest.mark.parametrize("status", [200, 503])
def test_the_model_is_ready_when_its_ping_says_so(server: _Server, status: int) -> None:
    server.status = status
    assert ModelServer(10, server.server_port).is_ready() is (status == 200)
    assert server.received[0][:2] == ("GET", "/ping")


@contextmanager
def asking(client: ModelServer, server: _Server) -> Iterator[list[InvocationError]]:
    """Run the block while a thread waits for the server's answer; the call ends with the block."""
    server.go.clear()
    failures: list[InvocationError] = []
    thread = threading.Thread(target=lambda: failures.append(failure(client)))
    thread.start()
    assert server.asked.wait(10)
    yield failures
    thread.join(10)
    assert not thread.is_alive()


def test_an_interruption_ends_running_calls_and_later_ones_as_if_they_had_not_run(server: _Server) -> None:
    client = ModelServer(60, server.server_port)
    with asking(client, server) as failures:
        client.interrupt()
    assert [error.ran for error in failures] == [False]
    assert failure(client).ran is False
    assert len(server.received) == 1


def test_a_server_that_ends_a_moment_before_the_interruption_is_no_failure_of_the_model(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_server, "_NOTICE_IN_SECONDS", 30)
    client = ModelServer(60, server.server_port)
    with asking(client, server) as failures:
        server.breaks = True
        server.go.set()
        client.interrupt()
    assert [error.ran for error in failures] == [False]

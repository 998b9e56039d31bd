"""The container contract over HTTP: GET /ping answers 200 once the model is ready, POST /invocations generates."""

from __future__ import annotations

import json
import logging
import select
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .batching import Batching, GenerationError, Pending
from .request import RequestError, Sampling, parse

_MOST_BYTES = 32 * 1024 * 1024
_HANG_UP_LOOK_IN_SECONDS = 1


class Server(ThreadingHTTPServer):
    """A server on loopback. It answers 503 until `serve` gives it a model."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.batching: Batching | None = None
        self.defaults = Sampling()

    def serve(self, batching: Batching, defaults: Sampling) -> None:
        """Answer requests from here on. defaults: the model's sampling."""
        self.defaults, self.batching = defaults, batching


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds for which a client may send nothing

    def do_GET(self) -> None:
        if self.path != "/ping":
            self._refuse(404, "there are GET /ping and POST /invocations")
        elif self.server.batching is None:
            self._refuse(503, "the model is loading")
        else:
            self._send(200, {"status": "ready"})

    def do_POST(self) -> None:
        if self.path != "/invocations":
            self._refuse(404, "there are GET /ping and POST /invocations")
            return
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._refuse(413 if length.isdecimal() else 411, f"send content-length, at most {_MOST_BYTES}")
            return
        body = self.rfile.read(int(length))
        if self.server.batching is None:
            self._send(503, {"error": "the model is loading"})
            return
        try:
            pending = self.server.batching.submit(parse(body, self.server.defaults))
            if self._wait(pending):
                self._send(200, pending.answer())
        except RequestError as error:
            self._send(400, {"error": str(error), "field": error.field or None})
        except GenerationError as error:
            self._send(500, {"error": str(error)})
        except Exception as error:
            logging.error("a request failed: %s", type(error).__name__)  # only the type: messages quote prompts
            self._send(500, {"error": f"the server failed: {type(error).__name__}"})

    def _wait(self, pending: Pending) -> bool:
        """Wait for the end; False if the client hung up, for which the model then stops working."""
        while not pending.done.wait(_HANG_UP_LOOK_IN_SECONDS):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                pending.abandon()
                self.close_connection = True
                return False
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer in JSON, too, what the standard library refuses, such as other methods."""
        self._refuse(code, message or "the request is refused")

    def _refuse(self, status: int, error: str) -> None:
        """Refuse a request and end the connection, because its body may be unread."""
        self.close_connection = True
        self._send(status, {"error": error})

    def _send(self, status: int, document: Any) -> None:
        body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: pings come every few seconds, and `batching` logs the work."""

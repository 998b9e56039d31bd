"""The HTTP server of the container contract: GET /ping and POST /invocations on one loopback port."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from local_cloud.model_server.contract.answer import EngineAnswer, EngineFailedError


class ContainerEngine(Protocol):
    """The program in the container, which answers invocations."""

    @property
    def most_concurrent_requests(self) -> int: ...
    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer: ...
    def refuse_overload(self) -> EngineAnswer: ...


class ContainerServer(ThreadingHTTPServer):
    """Answers invocations as the engine does; each decoding step takes `seconds_per_token`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, engine: ContainerEngine, seconds_per_token: float) -> None:
        super().__init__(("127.0.0.1", port), InvocationHandler)
        self._engine = engine
        self._seconds_per_token = seconds_per_token
        self._slots = threading.BoundedSemaphore(engine.most_concurrent_requests)

    def answer(
        self, raw: bytes, stream: Callable[[EngineAnswer, Iterator[bytes]], int] | None = None, adapter: str = ""
    ) -> EngineAnswer:
        """The engine's answer after its computing time, or its refusal of a request too many.

        adapter: the name of the adapter that answers; "" = the model without one.
        stream: sends a streamed answer, given its parts as they are computed, and returns their number.
        """
        if not self._slots.acquire(blocking=False):
            return self._engine.refuse_overload()
        try:
            answer = self._engine.answer(raw, adapter)
            if answer.parts and stream:
                return replace(answer, steps=stream(answer, self._in_time(answer.parts)))
            time.sleep(answer.steps * self._seconds_per_token)
            return answer
        finally:
            self._slots.release()

    def _in_time(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            time.sleep(self._seconds_per_token)
            yield part

    def handle_error(self, request: object, client_address: object) -> None:
        """Log no traceback for a caller that gave up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class InvocationHandler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    server: ContainerServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body are sent in one packet.
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer GET /ping: the port opens only when the model is ready."""
        self._send(EngineAnswer(200 if self.path == "/ping" else 404, b""))

    def do_POST(self) -> None:
        """Answer one invocation."""
        started = time.perf_counter()
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/invocations":
            self._send(EngineAnswer(404, b""))
            return
        # A fault that a test has ordered; the local cloud's runtime passes it on.
        self._fault, _, self._after = self.headers.get("X-Slipway-Fault", "").partition(" ")
        try:
            # The header is described in AWS's model-hosting-container-standards.
            adapter = self.headers.get("X-Amzn-SageMaker-Adapter-Identifier", "")
            answer = self.server.answer(raw, self._stream, adapter)
        except ConnectionError:
            print("POST /invocations ended by its caller", flush=True)
            raise
        if answer.parts is None:
            self._send(answer)
        # Prompts and answers must not reach the log.
        seconds = time.perf_counter() - started
        print(f"POST /invocations {answer.status} {answer.steps} tokens {seconds:.3f} s", flush=True)

    def _send(self, answer: EngineAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _stream(self, answer: EngineAnswer, parts: Iterator[bytes]) -> int:
        """Send each part at once. Raises ConnectionError, which ends the work, if the caller has hung up."""
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        number = 0
        try:
            for number, part in enumerate(parts, 1):
                self._break(answer, number - 1)
                self._send_part(part)
            self._send_part(answer.ending(), is_last=True)
        except EngineFailedError:
            self._send_part(answer.broken, is_last=True)
        return number

    def _break(self, answer: EngineAnswer, sent: int) -> None:
        """Carry out the ordered fault if its moment has come. Raises ConnectionAbortedError."""
        fault = self._fault if self._after == str(sent) else ""
        if fault == "engine_exit":
            os._exit(1)
        if fault in ("engine_error", "engine_end"):
            self._send_part(answer.broken if fault == "engine_error" else b"", is_last=True)
            raise ConnectionAbortedError

    def _send_part(self, part: bytes, *, is_last: bool = False) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) * bool(part) + b"0\r\n\r\n" * is_last)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: each invocation writes its own line."""

"""The HTTP server of the container contract: GET /ping and POST /invocations on one loopback port."""

import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from local_cloud.model_server.contract.answer import EngineAnswer


class ContainerEngine(Protocol):
    """The program in the container, which answers invocations."""

    @property
    def most_concurrent_requests(self) -> int: ...
    def answer(self, raw: bytes) -> EngineAnswer: ...
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

    def answer(self, raw: bytes, send_part: Callable[[EngineAnswer, int], None] | None = None) -> EngineAnswer:
        """The engine's answer after its computing time, or its refusal of a request too many.

        send_part is called after each step of a streamed answer, with the number of the step, from 0.
        """
        if not self._slots.acquire(blocking=False):
            return self._engine.refuse_overload()
        try:
            answer = self._engine.answer(raw)
            if not answer.parts or send_part is None:
                time.sleep(answer.steps * self._seconds_per_token)
                return answer
            for number in range(len(answer.parts)):
                time.sleep(self._seconds_per_token)
                send_part(answer, number)
            return answer
        finally:
            self._slots.release()

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
            answer = self.server.answer(raw, self._send_part)
        except ConnectionError:
            print("POST /invocations ended by its caller", flush=True)
            raise
        if not answer.parts:
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

    def _send_part(self, answer: EngineAnswer, number: int) -> None:
        """Send one part of a stream at once; raises ConnectionError, which ends the work, if the caller has hung up."""
        if number == 0:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
        part, is_last = answer.parts[number], number == len(answer.parts) - 1
        fault = self._fault if self._after == str(number) else ""
        if fault == "engine_exit":
            os._exit(1)
        broken = {"engine_error": answer.broken, "engine_end": b""}.get(fault)
        if broken is not None:
            part, is_last = broken, True
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) * bool(part) + b"0\r\n\r\n" * is_last)
        self.wfile.flush()
        if broken is not None:
            raise ConnectionAbortedError

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: each invocation writes its own line."""

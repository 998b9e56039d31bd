"""The HTTP side of the container contract: GET /ping and POST /invocations on one loopback port."""

import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from local_cloud.model_server.contract.answer import EngineAnswer


class Engine(Protocol):
    """The program in the container."""

    @property
    def most_concurrent_requests(self) -> int: ...
    def answer(self, raw: bytes) -> EngineAnswer: ...
    def refuse_overload(self) -> EngineAnswer: ...


class ContainerServer(ThreadingHTTPServer):
    """Answers invocations as the engine does; each decoding step takes `seconds_per_token`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, engine: Engine, seconds_per_token: float) -> None:
        super().__init__(("127.0.0.1", port), InvocationHandler)
        self._engine = engine
        self._seconds_per_token = seconds_per_token
        self._slots = threading.BoundedSemaphore(engine.most_concurrent_requests)

    def answer(self, raw: bytes, send_part: Callable[[EngineAnswer, int], None] | None = None) -> EngineAnswer:
        """The engine's answer after the time it takes, or its refusal while it has too much to do.

        send_part gets a streamed answer after each step, with the number of the step from 0 on.
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
        """A caller that gave up is not worth a traceback in the endpoint's log."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class InvocationHandler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    server: ContainerServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body leave in one packet.
    wbufsize = -1

    def do_GET(self) -> None:
        """Whether the model is ready: the port opens only once it is."""
        self._send(EngineAnswer(200 if self.path == "/ping" else 404, b""))

    def do_POST(self) -> None:
        """One invocation."""
        started = time.perf_counter()
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/invocations":
            self._send(EngineAnswer(404, b""))
            return
        # A test's order, which the runtime of the local cloud passes on.
        self._fault, _, self._after = self.headers.get("X-Slipway-Fault", "").partition(" ")
        try:
            answer = self.server.answer(raw, self._send_part)
        except ConnectionError:
            print("POST /invocations ended by its caller", flush=True)
            raise
        if not answer.parts:
            self._send(answer)
        # Prompts and answers stay out of the log.
        seconds = time.perf_counter() - started
        print(f"POST /invocations {answer.status} {answer.steps} tokens {seconds:.3f} s", flush=True)

    def _send(self, answer: EngineAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _send_part(self, answer: EngineAnswer, number: int) -> None:
        """One part of a stream, at once; a caller that is gone raises ConnectionError, which ends the work."""
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
        """Nothing: each invocation writes its own line."""

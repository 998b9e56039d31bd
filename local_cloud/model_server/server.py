"""The HTTP side of the container contract: GET /ping and POST /invocations on one loopback port."""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from local_cloud.model_server.answer import Answer


class Engine(Protocol):
    """The program in the container."""

    @property
    def most_concurrent_requests(self) -> int: ...
    def answer(self, raw: bytes) -> Answer: ...
    def refuse_overload(self) -> Answer: ...


class ModelServer(ThreadingHTTPServer):
    """Answers invocations as the engine does; each decoding step takes `seconds_per_token`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, engine: Engine, seconds_per_token: float) -> None:
        super().__init__(("127.0.0.1", port), InvocationHandler)
        self._engine = engine
        self._seconds_per_token = seconds_per_token
        self._slots = threading.BoundedSemaphore(engine.most_concurrent_requests)

    def answer(self, raw: bytes) -> Answer:
        """The engine's answer after the time it takes, or its refusal while it has too much to do."""
        if not self._slots.acquire(blocking=False):
            return self._engine.refuse_overload()
        try:
            answer = self._engine.answer(raw)
            time.sleep(answer.steps * self._seconds_per_token)
            return answer
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that gave up is not worth a traceback in the endpoint's log."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class InvocationHandler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    server: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body leave in one packet.
    wbufsize = -1

    def do_GET(self) -> None:
        """Whether the model is ready: the port opens only once it is."""
        self._send(Answer(200 if self.path == "/ping" else 404, b""))

    def do_POST(self) -> None:
        """One invocation."""
        started = time.perf_counter()
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/invocations":
            self._send(Answer(404, b""))
            return
        answer = self.server.answer(raw)
        self._send(answer)
        # Prompts and answers stay out of the log.
        seconds = time.perf_counter() - started
        print(f"POST /invocations {answer.status} {answer.steps} tokens {seconds:.3f} s", flush=True)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: each invocation writes its own line."""

"""The HTTP side of the container contract: GET /ping and POST /invocations on one loopback port."""

import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from local_cloud.model_server.answer import Answer


class ModelServer(ThreadingHTTPServer):
    """Answers invocations with `answer`; each decoding step takes `seconds_per_token`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, answer: Callable[[bytes], Answer], seconds_per_token: float) -> None:
        super().__init__(("127.0.0.1", port), InvocationHandler)
        self.answer = answer
        self.seconds_per_token = seconds_per_token

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
        time.sleep(answer.steps * self.server.seconds_per_token)
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

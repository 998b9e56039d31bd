"""A stand-in for our API with scripted answers, for states that the local cloud can't reach quickly."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm_hosting.playground import serve

Reply = tuple[int, dict[str, str], Any]  # status, headers, JSON; or the pieces of a stream
Answerer = Callable[["Call"], Reply]
CONFIG: dict[str, Any] = {
    "auth": "none",
    "mode": "realtime",
    "engine": "lmi-vllm",
    "model_id": "openai-community/gpt2",
    "bodies": ["inputs", "messages", "prompt"],
    "parameters": {"temperature": {"minimum": 0}, "max_new_tokens": {"minimum": 1, "maximum": 1023}},
    "images": None,
    "max_body_bytes": 131_072,
    "chat_template": False,
    "streams": [],
    "jobs": True,
    "longest_wait_in_seconds": 25,
    "deployment": "gpt2",
    "region": "us-east-1",
    "signed_by_proxy": False,
}


def chat_chunks(texts: Iterable[str], *, end: str = "stop") -> Iterator[bytes]:
    """Yield the events of a chat's stream, each as soon as its text is there."""
    for text in texts:
        yield _event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
    yield b"data: [DONE]\n\n"


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


class Call:
    """A request as it arrived; headers by lower-case name."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: Any) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    @property
    def route(self) -> str:
        """The method, and the path without the query and without a job's id."""
        path = self.path.partition("?")[0]
        return f"{self.method} jobs/" if path.startswith("jobs/") else f"{self.method} {path}"


class StandInApi(ThreadingHTTPServer):
    """A server with one scripted answer for each route.

    `answers`: a function for each route, such as `POST jobs`.
    `calls`: all requests, except those for the page's files.
    `url`: ends in a slash.
    """

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Answerer], **config: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Answerer] = {"GET endpoint": lambda _: (200, {}, {"status": "InService"})} | dict(
            answers
        )
        self.config, self.calls = CONFIG | config, list[Call]()
        self.url = f"http://127.0.0.1:{self.server_port}/v1/"

    def __enter__(self) -> "StandInApi":
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def called(self, route: str) -> list[Call]:
        return [call for call in self.calls if call.route == route]


class _Handler(BaseHTTPRequestHandler):
    server: StandInApi

    def do_GET(self) -> None:
        path = self.path.removeprefix("/v1/")
        if path == "" or path.startswith("playground/"):
            name = path.removeprefix("playground/") or serve.INDEX
            self._send(*serve.answer(name, self.server.config, None))
            return
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, path, headers, json.loads(data) if data else None)
        self.server.calls.append(call)
        status, own, body = self.server.answers[call.route](call)
        kind = "text/event-stream" if isinstance(body, Iterator) else "application/json"
        pieces = body if isinstance(body, Iterator) else json.dumps(body)
        self._send(status, {"content-type": kind, "x-request-id": "r-1"} | own, pieces)

    do_POST = do_DELETE = do_GET

    def _send(self, status: int, headers: dict[str, str], text: str | Iterator[bytes]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the browser aborted the request
            for piece in [text.encode()] if isinstance(text, str) else text:
                self.wfile.write(piece)

    def log_message(self, *_: Any) -> None:
        """Log nothing, to keep the output of tests readable."""

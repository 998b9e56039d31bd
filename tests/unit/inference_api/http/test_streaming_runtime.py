"""The streaming runtime in a process of its own, as Lambda's loop imports it, against a Runtime API over real HTTP."""

import base64
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import pytest

from support.repository import ROOT
from support.templates.inline_code import index_file

PREFIX = "/2018-06-01/runtime"
# awslambdaric 4.2.2, bootstrap.run: the handler is imported before the first event is asked for, and what is raised on
# the way is posted to init/error.
LAMBDAS_LOOP = f"""
import http.client, importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
module, _, name = sys.argv[2].rpartition(".")
try:
    getattr(importlib.import_module(module), name)
except Exception as error:
    api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    api.request("POST", "{PREFIX}/init/error", json.dumps({{"errorType": type(error).__name__}}))
    api.getresponse().read()
    sys.exit(1)
raise AssertionError("the streaming runtime gave its process back")
"""
PROBE = r"""
import os
from inference_api.http.streaming_runtime import Streamed, serve

if os.environ.get("BROKEN"):
    raise ValueError("broken at import")

def pieces(event, context):
    try:
        if event["way"] == "context":
            left = context.get_remaining_time_in_millis()
            yield f"{context.aws_request_id} {50_000 < left <= 60_000} {os.environ['_X_AMZN_TRACE_ID']}".encode()
        for part in event.get("parts", []):
            yield bytes.fromhex(part)
        while event["way"] == "endless":
            yield b"x" * 10_000
        if event["way"] == "late":
            raise ValueError("my secret prompt")
    finally:
        print("closed", event["way"], flush=True)

def route(event, context):
    if event["way"] == "early":
        raise ValueError("my secret prompt")
    return Streamed(200, {"x-odd": "a\0b"}, pieces(event, context))

handler = serve(route)
"""


class Posted(NamedTuple):
    """A request that the runtime has posted. body: without the chunked encoding."""

    path: str
    headers: dict[str, str]
    body: bytes
    trailers: dict[str, str]


class RuntimeApi(ThreadingHTTPServer):
    """Hands out `events`. `posted` holds the answers. hang_up: drop the connection in the middle of an answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: Queue[dict[str, Any] | None] = Queue()
        self.posted: Queue[Posted] = Queue()
        self.numbers = iter(range(1, 100))


class _Handler(BaseHTTPRequestHandler):
    server: RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        event = self.server.events.get()
        if event is None:
            self.close_connection = True
            return
        body, number = json.dumps(event).encode(), next(self.server.numbers)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": f"request-{number}",
            "Lambda-Runtime-Invocation-Id": f"attempt-{number}",
            "Lambda-Runtime-Deadline-Ms": str(int(1000 * time.time()) + 60_000),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:111122223333:function:probe",
            "Lambda-Runtime-Trace-Id": "Root=1-2-3",
            "Content-Length": str(len(body)),
        }
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body, trailers = b"", {}
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
                if len(body) > 50_000:
                    self.close_connection = True
                    self.connection.close()
                    return
            while line := self.rfile.readline().strip():
                name, _, value = line.decode().partition(": ")
                trailers[name] = value
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.posted.put(Posted(self.path, dict(self.headers.items()), body, trailers))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, so that the tests' output stays readable."""


class Function:
    """A process of a function."""

    def __init__(self, api: RuntimeApi, code: Path, handler: str, **environment: str) -> None:
        self._api = api
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAMBDAS_LOOP, str(code), handler],
            env={"AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def answer(self, way: str, *parts: bytes) -> Posted:
        self._api.events.put({"way": way, "parts": [part.hex() for part in parts]})
        return self._api.posted.get(timeout=30)

    def start(self, way: str) -> None:
        self._api.events.put({"way": way})

    def printed(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def exit_status(self) -> int:
        return self._process.wait(30)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._api.events.put(None)


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """The functions' code with one more handler, as files and inline: the folder, and the handler's name in it."""
    folder, inline = tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("inline")
    shutil.copytree(ROOT / "lambda_src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "inference_api" / "handlers" / "probe.py").write_text(PROBE)
    (inline / "index.py").write_text(index_file(folder, "inference_api.handlers."))
    return {"folder": (folder, "inference_api.handlers.probe.handler"), "inline": (inline, "index.probe")}


@pytest.fixture
def api() -> Iterator[RuntimeApi]:
    with RuntimeApi() as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(params=["folder", "inline"])
def function(request: pytest.FixtureRequest, api: RuntimeApi, codes: dict[str, tuple[Path, str]]) -> Iterator[Function]:
    started = Function(api, *codes[request.param])
    yield started
    started.end()


def test_answers_failures_and_callers_who_leave_follow_each_other(function: Function) -> None:
    whole = function.answer("whole", b"\xf0\x9f", b"", b"\x98\x80\0\n")
    assert whole.path == f"{PREFIX}/invocation/request-1/response"
    assert whole.headers["Lambda-Runtime-Function-Response-Mode"] == "streaming"
    assert whole.headers["Content-Type"] == "application/vnd.awslambda.http-integration-response"
    assert whole.headers["Lambda-Runtime-Invocation-Id"] == "attempt-1"
    metadata, _, body = whole.body.partition(bytes(8))
    assert json.loads(metadata) == {"statusCode": 200, "headers": {"x-odd": "a\0b"}}
    assert (b"\0" in metadata, body, whole.trailers) == (False, b"\xf0\x9f\x98\x80\0\n", {})
    assert function.printed() == "closed whole"

    early = function.answer("early")
    assert early.path == f"{PREFIX}/invocation/request-2/error"
    assert early.headers["Lambda-Runtime-Function-Error-Type"] == "ValueError"
    assert json.loads(function.printed())["stackTrace"] == json.loads(early.body)["stackTrace"]

    late = function.answer("late", b"one")
    assert late.body.endswith(bytes(8) + b"one")
    assert late.trailers.pop("Lambda-Runtime-Function-Error-Type") == "ValueError"
    failure = json.loads(base64.b64decode(late.trailers.pop("Lambda-Runtime-Function-Error-Body")))
    assert failure["errorType"] == "ValueError"
    assert not any("my secret prompt" in failure["errorMessage"] for failure in (failure, json.loads(early.body)))
    assert [function.printed()[:12] for _ in range(2)] == ["closed late", '{"errorType"']

    function.start("endless")
    assert function.printed() == "closed endless", "after the reader hung up"
    context = function.answer("context").body.partition(bytes(8))[2]
    assert context == b"request-5 True Root=1-2-3"


def test_a_module_that_fails_is_left_to_lambdas_loop(api: RuntimeApi, codes: dict[str, tuple[Path, str]]) -> None:
    broken = Function(api, *codes["folder"], BROKEN="1")
    posted = api.posted.get(timeout=30)
    assert (posted.path, json.loads(posted.body)) == (f"{PREFIX}/init/error", {"errorType": "ValueError"})
    assert broken.exit_status() == 1
    broken.end()

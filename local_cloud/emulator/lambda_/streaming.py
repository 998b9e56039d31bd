"""Functions that stream their answers: their processes talk to Lambda's documented Runtime API over HTTP.

A function behind a STREAM integration runs as a custom runtime of MiniStack. Its bootstrap does what the managed Python
runtime does: it imports the handler's module and then asks for events. A module that asks for events itself never
returns from its import, and so replaces this loop.
"""

import base64
import contextlib
import io
import json
import sys
import time
import zipfile
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.core.relay import Relay
from local_cloud.emulator.lambda_.log_lines import MARK, lines_until_mark

_runtime = ministack.internals(
    "ministack.core.lambda_runtime",
    "ProvidedWorker._build_handler_class",
    "ProvidedWorker._record_result",
    "ProvidedWorker.invoke",
    "_INVOCATION_RESULT_RE",
    "_worker_class_for",
)
_gateway = ministack.internals("ministack.services.apigateway_v1", "_resources.all_items")

END_OF_METADATA = bytes(8)
URI_SUFFIX = "/response-streaming-invocations"
_BOOTSTRAP = """#!/bin/sh
exec '{python}' -u "$LAMBDA_TASK_ROOT/_slipway_runtime.py"
"""
_MANAGED_RUNTIME = """
import os
os.environ["AWS_ENDPOINT_URL"] = os.environ.get("AWS_ENDPOINT_URL", {endpoint!r})
os.environ["_LAMBDA_TIMEOUT"] = {timeout!r}
{prologue}
def _slipway_mark_ends():
    import http.client
    ask, asked = http.client.HTTPConnection.putrequest, []
    def putrequest(connection, method, url, *rest, **named):
        if url.endswith("/runtime/invocation/next"):
            if asked:
                print({mark!r}, flush=True)
            asked.append(url)
        return ask(connection, method, url, *rest, **named)
    http.client.HTTPConnection.putrequest = putrequest
def _slipway_run():
    import importlib, json, sys, time, traceback, types, urllib.request
    api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime"
    def post(path, body):
        urllib.request.urlopen(urllib.request.Request(api + path, body.encode())).close()
    def failure(error):
        traceback.print_exc()
        return json.dumps(dict(errorType=type(error).__name__, errorMessage=str(error)))
    try:
        module, _, name = os.environ["_HANDLER"].rpartition(".")
        handler = getattr(importlib.import_module(module.replace("/", ".")), name)
    except Exception as error:
        post("/init/error", failure(error))
        sys.exit(1)
    while True:
        with urllib.request.urlopen(api + "/invocation/next") as answer:
            headers, event = answer.headers, json.load(answer)
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
        deadline = int(headers["Lambda-Runtime-Deadline-Ms"])
        context = types.SimpleNamespace(
            aws_request_id=headers["Lambda-Runtime-Aws-Request-Id"],
            function_name=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
            invoked_function_arn=headers["Lambda-Runtime-Invoked-Function-Arn"],
            get_remaining_time_in_millis=lambda: max(0, deadline - int(time.time() * 1000)),
        )
        path = "/invocation/" + context.aws_request_id
        try:
            path, body = path + "/response", json.dumps(handler(event, context))
        except Exception as error:
            path, body = path + "/error", failure(error)
        post(path, body)
_slipway_mark_ends()
_slipway_run()
"""
_emulator_prologue = ""


_relay: ContextVar[Relay | None] = ContextVar("relay", default=None)


@contextlib.contextmanager
def relayed_by(relay: Relay) -> Iterator[None]:
    """A context in which invocations hand the pieces of their answer to this relay."""
    token = _relay.set(relay)
    try:
        yield
    finally:
        _relay.reset(token)


class StreamingWorker(_runtime.ProvidedWorker):  # type: ignore[misc, name-defined]
    """The process of a function that streams its answers."""

    def __init__(self, name: str, config: dict[str, Any], code: bytes) -> None:
        super().__init__(name, config, _with_bootstrap(code, str(config.get("Timeout", 3))))
        self.relay: Relay | None = None
        self.deadline_ms = 0
        self._started = 0.0

    def invoke(self, event: Any, request_id: str, **named: Any) -> dict[str, Any]:
        self.relay = _relay.get()
        # Functions read the cloud's clock, but their time limit counts in real seconds.
        self.deadline_ms = int((clock.now() + self.config.get("Timeout", 3) * clock.SPEED) * 1000)
        self._started = time.monotonic()
        known = {name: named[name] for name in ("trace_id", "invoked_function_arn") if name in named}
        try:
            result: dict[str, Any] = super().invoke(event, request_id, **known)
        except Exception as error:  # the start failed; the log says why
            return {"status": "error", "error": str(error), "cold_start": True, "log": self._drain_stderr()}
        return result

    def _drain_stderr_bounded(self, **limits: float) -> str:
        """Wait for the end of an invocation: the process asks for the next one, within the function's timeout."""
        if limits:
            return str(super()._drain_stderr_bounded(**limits))
        end = self._started + self.config.get("Timeout", 3)
        log = lines_until_mark(self, lambda: time.monotonic() < end)
        if time.monotonic() >= end and self._proc:
            self._proc.kill()
        return log

    def _build_handler_class(self, generation: int, pending: Any) -> Any:
        return _api_for(self, generation, super()._build_handler_class(generation, pending))


def _api_for(worker: StreamingWorker, generation: int, base: Any) -> Any:
    class RuntimeApi(base):  # type: ignore[misc]
        def send_header(self, keyword: str, value: str) -> None:
            super().send_header(keyword, str(worker.deadline_ms) if keyword == "Lambda-Runtime-Deadline-Ms" else value)

        def do_POST(self) -> None:
            found = _runtime._INVOCATION_RESULT_RE.search(self.path)
            mode = self.headers.get("Lambda-Runtime-Function-Response-Mode", "")
            if not found or mode.lower() != "streaming" or found[1] != worker._current_request_id:
                super().do_POST()
                return
            kind, payload = self._read_stream(worker.relay)
            worker._record_result(generation, found[1], kind, payload)
            with contextlib.suppress(OSError):
                self._respond(202)

        def _read_stream(self, relay: Relay | None) -> tuple[str, Any]:
            pieces: list[bytes] = []
            if relay:
                relay.attach(self.connection)
            try:
                for piece in _chunks(self.rfile):
                    relay.put(piece) if relay else pieces.append(piece)
                trailers = dict(_trailers(self.rfile))
                if relay:
                    relay.detach()
            except (OSError, ValueError):
                self.close_connection = True
                if relay and relay.is_closed:
                    return "response", {}  # the caller has hung up; the function has not failed
                return "error", {"errorType": "Runtime.TruncatedResponse", "errorMessage": "The stream was cut."}
            if "lambda-runtime-function-error-type" in trailers:
                body = base64.b64decode(trailers.get("lambda-runtime-function-error-body", "e30="))
                return "error", {"errorType": trailers["lambda-runtime-function-error-type"]} | json.loads(body)
            return "response", {} if relay else _whole(b"".join(pieces))

    return RuntimeApi


def _chunks(stream: Any) -> Iterator[bytes]:
    """The chunks of a request's body; raises ValueError if the body is incomplete."""
    while size := int(stream.readline().split(b";")[0], 16):
        piece = stream.read(size)
        if len(piece) < size or stream.readline() != b"\r\n":
            raise ValueError("The body is cut.")
        yield piece


def _trailers(stream: Any) -> Iterator[tuple[str, str]]:
    while (line := stream.readline()) != b"\r\n":
        name, colon, value = line.decode().partition(":")
        if not colon:
            raise ValueError("The trailers are cut.")
        yield name.strip().lower(), value.strip()


def _whole(answer: bytes) -> Any:
    """The answer for callers of Invoke, in the form of a function without streaming."""
    metadata, found, body = answer.partition(END_OF_METADATA)
    return json.loads(metadata) | {"body": body.decode()} if found else answer.decode()


def _with_bootstrap(code: bytes, timeout: str) -> bytes:
    """The function's code with the two files that make it a custom runtime."""
    endpoint = ministack.own_endpoint_url()
    script = _MANAGED_RUNTIME.format(endpoint=endpoint, timeout=timeout, prologue=_emulator_prologue, mark=MARK)
    buffer = io.BytesIO(code)
    # Fixed times keep the archive identical: MiniStack makes a folder for each archive and keeps it.
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(zipfile.ZipInfo("bootstrap"), _BOOTSTRAP.format(python=sys.executable))
        archive.writestr(zipfile.ZipInfo("_slipway_runtime.py"), script)
    return buffer.getvalue()


def _is_streamed(function_arn: str) -> bool:
    """Whether any API method, in any account and region, streams the answers of this function."""
    end = f"/functions/{function_arn}{URI_SUFFIX}"
    return any(
        str((method.get("methodIntegration") or {}).get("uri")).endswith(end)
        for _, _, resources in ministack.in_all_scopes(_gateway._resources)
        for each in resources.values()
        for method in each["resourceMethods"].values()
    )


def install(prologue: str) -> None:
    """Run functions behind STREAM integrations in processes whose code begins with this prologue."""
    global _emulator_prologue
    _emulator_prologue = prologue
    class_for = _runtime._worker_class_for

    def worker_class_for(config: dict[str, Any]) -> Any:
        return StreamingWorker if _is_streamed(config.get("FunctionArn", "")) else class_for(config)

    _runtime._worker_class_for = worker_class_for

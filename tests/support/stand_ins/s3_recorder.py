"""A proxy for the local cloud's S3 that records every request and can hold some back."""

import contextlib
import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from support.stand_ins.loopback_server import LoopbackServer


class Request(NamedTuple):
    """A request to S3. `operation`: its name in S3's API."""

    operation: str
    key: str
    part: int | None
    size: int


class S3Recorder(LoopbackServer):
    """The proxy. `url` is the value for AWS_ENDPOINT_URL_S3.

    `passed`: the requests that reached S3.
    `cut`: a predicate; a request for which it is true never reaches S3, and `is_cut` is set.
    `idle`: set while no request is in progress.
    """

    def __init__(self, cloud_url: str) -> None:
        self.passed: list[Request] = []
        self.cut: Callable[[Request], bool] = lambda request: False
        self.is_cut, self.ending, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self.idle, self._under_way = threading.Event(), 0
        self.address = urlsplit(cloud_url)
        super().__init__(type("Handler", (_Handler,), {"recorder": self}))

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.refuse()

    def take(self) -> list[Request]:
        """Return the requests that reached S3 since the last call."""
        with self._lock:
            taken, self.passed = self.passed, []
        return taken

    def admits(self, request: Request) -> bool:
        with self._lock:
            if self.cut(request):
                self.is_cut.set()
                return False
            self.passed.append(request)
            self._under_way += 1
            self.idle.clear()
            return True

    def answered(self) -> None:
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                self.idle.set()


class _Handler(BaseHTTPRequestHandler):
    recorder: S3Recorder
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client was killed
            super().handle()

    def _pass(self) -> None:
        size = int(self.headers.get("content-length", 0))
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the client was killed")
        if not self.recorder.admits(_request(self.command, self.path, len(body))):
            self.recorder.ending.wait(60)  # until the client is killed
            self.close_connection = True
            return
        address = self.recorder.address
        with contextlib.closing(http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)) as cloud:
            cloud.request(self.command, self.path, body, dict(self.headers))
            answer = cloud.getresponse()
            content = answer.read()
        self.recorder.answered()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = answer.getheader("content-length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _request(method: str, target: str, size: int) -> Request:
    url = urlsplit(target)
    query = parse_qs(url.query, keep_blank_values=True)
    key = unquote(url.path).lstrip("/").partition("/")[2]
    part = int(query["partNumber"][0]) if "partNumber" in query else None
    upload = "uploadId" in query
    names = {
        "PUT": "UploadPart" if part else "PutObject",
        "POST": "CompleteMultipartUpload" if upload else "CreateMultipartUpload",
        "GET": "ListParts" if upload else "GetObject" if key else "List",
        "HEAD": "HeadObject",
        "DELETE": "AbortMultipartUpload" if upload else "DeleteObject",
    }
    return Request(names[method], key, part, size)

"""The playground's page and a signing proxy on 127.0.0.1, for browsers and any HTTP client.

The browser never holds AWS credentials. Other web pages can't use the proxy: its URL holds a secret token, and
requests under another host name (DNS rebinding) or from another origin are refused.
"""

import json
import re
import secrets
import socket
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.file_errors import why
from llm_hosting.playground import serve
from slipway.shared.aws_errors import sentence
from slipway.stack.api import DeployedApi, refusal
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.openapi_document import document_of
from slipway.stack.operator_token import takes_tokens
from slipway.stack.proxy_token import token_of

_LARGEST_BODY = 10 * 1024 * 1024  # API Gateway's own limit
_READ_TIMEOUT_IN_SECONDS = 30  # of a client that sends its request
# The paths of the API's routes. Dots alone, escapes and empty segments could name another path after signing.
_SEGMENT = "[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_PATH = re.compile(rf"{_SEGMENT}(/{_SEGMENT})*(\?([A-Za-z0-9_.~&=+-]|%[0-9A-Fa-f]{{2}})*)?")
_ASKED = ("accept", "content-type", "idempotency-key", "x-wait")
_ANSWERED = (
    "cache-control",
    "content-type",
    "location",
    "retry-after",
    "x-content-type-options",
    "x-request-id",
    "x-should-retry",
)


USUAL_PORT = 4567


class PortError(Exception):
    """The port can't be used; the message is one sentence."""


def run(name: str, region: str | None, port: int | None) -> int:
    """Serve until Ctrl-C. Returns the exit status: 2 if the deployment can't be called or the port is taken."""
    return with_stack(name, region, lambda stack: _serve(stack, port))


def _serve(stack: DeployedStack, port: int | None) -> int:
    if problem := refusal(stack, as_job=False):
        print(problem, file=sys.stderr)
        return 2
    try:
        proxy = proxy_for(stack, DeployedApi(stack), port, f"{stack.region} {stack.name}")
    except PortError as error:
        print(error, file=sys.stderr)
        return 2
    with proxy:
        print(f"{stack.name}: {proxy.url}\n")
        print(f"curl -sS {proxy.url}endpoint")
        print(*proxy.for_openai, "", sep="\n")
        print("Anyone on this machine with this URL calls with your credentials. Ctrl-C stops it.", flush=True)
        threading.Event().wait()
    return 0


def proxy_for(stack: DeployedStack, api: DeployedApi, port: int | None, deployment: str) -> "SigningProxy":
    """Make a proxy with a token that stays the same. Raises PortError if the given port can't be used.

    port: None = the usual port; if that is taken, a free one, and a message says so. deployment: the name from which
    the token is derived.
    """
    token = token_of(deployment)
    try:
        return SigningProxy(stack, api, USUAL_PORT if port is None else port, token)
    except OSError as error:
        if port is not None:
            raise _unusable(port, error) from None
    said = f"Port {USUAL_PORT} on 127.0.0.1 is in use, so the page gets another port; --playground-port chooses one."
    print(said, file=sys.stderr)
    return SigningProxy(stack, api, 0, token)


def demand_free(port: int | None) -> None:
    """Raise PortError if the port is taken, long before the proxy starts."""
    try:
        with socket.create_server(("127.0.0.1", port or 0)):
            pass
    except OSError as error:
        raise _unusable(port, error) from None


def _unusable(port: int | None, error: OSError) -> PortError:
    return PortError(f"Port {port} on 127.0.0.1 can't be used: {why(error)}; name another with --playground-port.")


class SigningProxy(ThreadingHTTPServer):
    """A server in its own thread while the context is open. `url` ends in a slash. Raises OSError for a taken port.

    port: 0 = a free one. token: None = a token for this run only.
    """

    daemon_threads = True

    def __init__(self, stack: DeployedStack, api: DeployedApi, port: int = 0, token: str | None = None) -> None:
        super().__init__(("127.0.0.1", port), _ProxyHandler)
        self.stack, self.api, self.token = stack, api, token or secrets.token_urlsafe(24)
        self.host = f"127.0.0.1:{self.server_port}"
        self.url = f"http://{self.host}/{self.token}/"
        self.settings = serve.config(stack.variables) | {
            "auth": "api-key" if "ApiKeyId" in stack.outputs or takes_tokens(stack) else "iam",
            "deployment": stack.name,
            "region": stack.region,
            "api_url": api.url,
            "answered_by": stack.answered_by,
            "signed_by_proxy": True,
        }

    @property
    def for_openai(self) -> list[str]:
        """Lines for a shell, after which OpenAI's clients call through the proxy.

        Empty if the deployment has no OpenAI routes.
        """
        routes = self.stack.variables.get("OPENAI_ROUTES")
        return [f"export OPENAI_BASE_URL={self.url} OPENAI_API_KEY=unused"] if routes else []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: a browser that leaves closes its connection early."""

    def __enter__(self) -> "SigningProxy":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _ProxyHandler(BaseHTTPRequestHandler):
    server: SigningProxy
    timeout = _READ_TIMEOUT_IN_SECONDS

    def do_GET(self) -> None:
        if (path := self._own_path()) is None:
            return
        if path == "openapi.json":
            self._describe()
            return
        name = path.removeprefix("playground/")
        if path == "" or name != path:
            status, headers, body = serve.answer(name, self.server.settings, self.headers.get("if-none-match"))
            self._answer(status, headers, body.encode())
        else:
            self._forward(path, None)

    def do_POST(self) -> None:
        if (path := self._own_path()) is None:
            return
        length = self.headers.get("content-length", "")
        if "transfer-encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            self._refuse(411, "length_required", "Send the body with a content-length.")
        elif len(length) > len(str(_LARGEST_BODY)) or int(length) > _LARGEST_BODY:
            self._refuse(413, "body_too_large", "The body has more than 10 MiB: send a shorter one.")
        else:
            data = self.rfile.read(int(length))
            if len(data) == int(length):
                self._forward(path, data)
            else:
                self._refuse(400, "body_cut_off", "The body is shorter than its content-length: send all of it.")

    def do_DELETE(self) -> None:
        if (path := self._own_path()) is not None:
            self._forward(path, None)

    def _own_path(self) -> str | None:
        """Return the path after the token; None = the request was refused."""
        hosts, origins = self.headers.get_all("host", []), self.headers.get_all("origin", [])
        own, (token, slash, path) = self.server.host, self.path.removeprefix("/").partition("/")
        if hosts != [own] or any(origin != f"http://{own}" for origin in origins):
            self._refuse(403, "foreign_origin", f"Send requests to http://{own}, and not from another web page.")
        elif not slash or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(403, "wrong_token", "Use the URL that the command printed, with its token.")
        else:
            return path
        return None

    def _describe(self) -> None:
        """Answer with the API's OpenAPI document."""
        try:
            document = json.dumps(document_of(self.server.stack))
        except (BotoCoreError, ClientError) as error:
            self._refuse(502, "api_not_described", sentence(error))
            return
        headers = {"content-type": "application/json", "x-content-type-options": "nosniff"}
        self._answer(200, headers, document.encode())

    def _forward(self, path: str, data: bytes | None) -> None:
        if path.startswith("models/"):
            path = path.replace("%2F", "/")  # OpenAI's clients escape the slash of a model's id; the route takes both
        if not _PATH.fullmatch(path):
            self._refuse(404, "no_such_route", "The API has no such route.")
            return
        headers = {name: self.headers[name] for name in _ASKED if name in self.headers}
        try:
            response = self.server.api.send(self.command, path, data, headers)
        except (BotoCoreError, ClientError) as error:
            self._refuse(502, "api_unreachable", sentence(error))
            return
        given = {name: response.headers[name] for name in _ANSWERED if name in response.headers}
        if "content-length" in response.headers:
            self._answer(response.status_code, given, response.content)
            return
        with closing(response.raw):
            self._begin(response.status_code, given)
            for piece in response.raw.stream():
                self.wfile.write(piece)

    def _refuse(self, status: int, code: str, message: str) -> None:
        kind = "permission_error" if status == 403 else "server_error" if status >= 500 else "invalid_request_error"
        error = json.dumps({"error": {"code": code, "message": message, "type": kind, "param": None}})
        self._answer(status, {"content-type": "application/json", "x-content-type-options": "nosniff"}, error.encode())

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self._begin(status, headers | {"content-length": str(len(body))})
        self.wfile.write(body)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers. Without a content-length the body ends with the connection."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that http.server can't read, or a method that it does not know."""
        said = "Use GET, POST or DELETE." if code == 501 else f"The request can't be read: {message}."
        self._refuse(code, "bad_request", said)

    def log_message(self, *_: Any) -> None:
        """Log nothing: the paths hold the token."""

"""Calls a deployed API on this machine as its callers do: signed, with an API key, or plain."""

import http.client
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from .callers import headers_of_admitted
from .cloud import Credentials, LocalCloud


@dataclass(frozen=True)
class ApiClient:
    """A deployed API; `url` ends in a slash. All but open APIs need `credentials`, an `api_key` or a `token`.

    headers: unsigned headers of each call.
    """

    url: str
    region: str
    credentials: Credentials | None = None
    api_key: str | None = None
    token: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def call(
        self, method: str, path: str, body: Any = None, timeout: float = 60, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Returns the status, the headers with lower-case names, and the parsed body (JSON lines stay text).

        The path may have a query string, percent-encoded.
        """
        headers = headers or {}
        if body is None:
            return self.send(method, path, None, headers, timeout)
        return self.send(
            method, path, json.dumps(body).encode(), {"content-type": "application/json"} | headers, timeout
        )

    def send(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str | bytes], timeout: float = 60
    ) -> tuple[int, dict[str, str], Any]:
        """Like `call`, but body and path are sent exactly as given; a header whose value is bytes is not signed."""
        with self.open(method, path, data, headers, timeout) as answer:
            content = answer.read()
        received = {name.lower(): value for name, value in answer.getheaders()}
        is_lines = received.get("content-type") in ("application/jsonl", "text/event-stream")
        return answer.status, received, content.decode() if is_lines else json.loads(content)

    def open(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str | bytes], timeout: float = 60
    ) -> http.client.HTTPResponse:
        """Like `send`, but returns the open response, to be read as it arrives; closing it hangs up."""
        if self.api_key:
            headers = {**headers, "x-api-key": self.api_key}
        if self.token:
            headers = {**headers, "authorization": f"Bearer {self.token}"}
        raw = {name: value for name, value in headers.items() if isinstance(value, bytes)}
        text = {name: value for name, value in headers.items() if isinstance(value, str)}
        request = AWSRequest(method=method, url=self.url + path.lstrip("/"), data=data, headers=text)
        if self.credentials:
            key = BotocoreCredentials(self.credentials.access_key_id, self.credentials.secret_access_key)
            SigV4Auth(key, "execute-api", self.region).add_auth(request)
        # http.client leaves URLs alone: a path with dots or escapes must arrive as it was signed.
        where = urlsplit(request.url)
        connection = http.client.HTTPConnection(where.netloc, timeout=timeout)
        target = where.path + (f"?{where.query}" if where.query else "")
        # Closing the response closes the connection.
        connection.request(
            method, target, data, {**dict(request.headers), **raw, **self.headers, "connection": "close"}
        )
        return connection.getresponse()

    def curl(self, method: str, path: str, body: Any = None) -> str:
        """The same call as a line to paste into a shell; signed by curl itself."""
        parts = ["curl", "-sS", "-w", r"\n", *(["--noproxy", "127.0.0.1"] if "http" in getproxies() else [])]
        if self.credentials:
            parts += ["--aws-sigv4", f"aws:amz:{self.region}:execute-api"]
            parts += ["--user", f"{self.credentials.access_key_id}:{self.credentials.secret_access_key}"]
        if self.api_key:
            parts += ["-H", f"x-api-key: {self.api_key}"]
        for name, value in self.headers.items():
            parts += ["-H", f"{name}: {value}"]
        if self.token:
            parts += ["-H", f"authorization: Bearer {self.token}"]
        if body is not None:
            parts += ["-H", "content-type: application/json", "-d", json.dumps(body)]
        elif method != "GET":
            parts += ["-X", method]
        return shlex.join([*parts, self.url + path.lstrip("/")])


def connect(
    cloud: LocalCloud,
    outputs: dict[str, str],
    region: str,
    caller: Credentials | None = None,
    deployer: Credentials | None = None,
) -> ApiClient:
    """A client for a deployed stack: it uses the stack's API key, or signs as the caller if there is no key.

    The client of an API that takes tokens has none yet.

    caller: None = a new IAM user, with its own jobs, who may only call this API. deployer: an administrator of the
    stack's account; None = the cloud's deployer.
    """
    deployer = deployer or cloud.deployer
    url = outputs["ApiUrl"]
    gateway = cloud.client("apigateway", region=region, credentials=deployer)
    api_id = _api_id(gateway, url)
    headers = headers_of_admitted(gateway, api_id)
    if key_id := outputs.get("ApiKeyId"):
        key = gateway.get_api_key(apiKey=key_id, includeValue=True)["value"]
        return ApiClient(url, region, api_key=key, headers=headers)
    if "TokenIssuer" in outputs:
        return ApiClient(url, region, headers=headers)
    if caller is None:
        resource = f"arn:aws:execute-api:{region}:{deployer.account}:{api_id}/*"
        statement = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": resource}
        caller = cloud.create_user("caller", [statement], by=deployer)
    return ApiClient(url, region, credentials=caller, headers=headers)


def _api_id(gateway: Any, url: str) -> str:
    """Return the id of the API behind a URL of its own, of a VPC endpoint, or of a domain."""
    _, _, kind, name, *_ = urlsplit(url).path.split("/")
    if kind == "domain":
        mappings = gateway.get_base_path_mappings(domainName=name)["items"]
        return str(mappings[0]["restApiId"])
    return name.partition("-")[0]

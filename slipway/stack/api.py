"""Calls a deployed API as its callers do: signed with the operator's credentials, with its key, or with a token."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from local_cloud.callers import headers_of_admitted
from slipway.shared.aws_errors import UnreachableApiError
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.operator_token import OperatorToken, takes_tokens

OPEN_JOB = ("queued", "running")
_TIMEOUTS_IN_SECONDS = (10, 330)  # for the connection and for the answer; api.timeout_in_seconds is at most 300
_HOLD_IN_SECONDS = 25  # the API holds a request for a job at most this long


@dataclass(frozen=True)
class ApiAnswer:
    """An answer of the API. content: parsed JSON, else text. retry_after: seconds; 0 = the API gives no advice."""

    status: int
    content: Any
    retry_after: int = 0

    @property
    def problem(self) -> str:
        """The status, and the error's code and message, on one line."""
        error = self.content.get("error") if isinstance(self.content, dict) else None
        text = " ".join(str(self.content).split())[:300]
        said = f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else text
        return f"{self.status} {said}"


def refusal(stack: DeployedStack, *, as_job: bool) -> str | None:
    """Tell in one sentence why the deployment can't be called; None = it can."""
    if "ApiUrl" not in stack.outputs:
        return f"{stack.name} has no API ({stack.status}): `slipway status {stack.name}` says why."
    if as_job and "JobTable" not in stack.outputs:
        return f"{stack.name} takes no jobs: its deployment has jobs.enabled: false."
    return None


class DeployedApi:
    """The API of a complete stack.

    Raises boto3's errors if AWS or the API can't be reached, and NoTokenError. UnreachableApiError says from where or
    by which DNS record the API can be reached.

    credentials: of botocore; None = boto3's default. connections: the number of connections to keep open, one for
    each caller at the same time.
    """

    def __init__(self, stack: DeployedStack, credentials: Any = None, connections: int = 10) -> None:
        self.url = str(stack.api_url)
        self._stack, self._region, self._key = stack, stack.region, _key(stack)
        self._unsigned = _headers_here(stack)
        self._token = OperatorToken(stack) if takes_tokens(stack) else None
        # The object itself is kept, because it refreshes the credentials before they expire.
        self._credentials = credentials or boto3.Session().get_credentials()
        self._http = _session(self.url, connections)

    def call(self, method: str, path: str, body: Any = None) -> ApiAnswer:
        """Call the API with a JSON body. path: the path below the stage; a query must be percent-encoded."""
        data = None if body is None else json.dumps(body).encode()
        return answer_of(self.send(method, path, data, {"content-type": "application/json"} if data else {}))

    def send(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Any:
        """Call the API with any bytes.

        Returns botocore's AWSResponse; read `raw` piece by piece, or `content` at once.
        """
        url = f"{self.url}{path.lstrip('/')}"
        request = AWSRequest(method=method, url=url, data=data, headers=dict(headers), stream_output=True)
        if self._key:
            request.headers["x-api-key"] = self._key
            request.headers["authorization"] = f"Bearer {self._key}"  # where OpenAI's routes expect the key
        elif self._token:
            request.headers["authorization"] = f"Bearer {self._token.value()}"
        elif self._credentials:
            frozen = self._credentials.get_frozen_credentials()
            SigV4Auth(frozen, "execute-api", self._region).add_auth(request)
        else:
            raise NoCredentialsError
        for name, value in self._unsigned.items():
            request.headers[name] = value
        try:
            return self._http.send(request.prepare())
        except BotoConnectionError as error:
            if problem := _why_unreachable(self._stack):
                raise UnreachableApiError(problem=problem) from error
            raise

    def fetch(self, url: str) -> ApiAnswer:
        """Get the file behind a link from the API."""
        return answer_of(_session(url).send(AWSRequest(method="GET", url=url).prepare()))

    def ended(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Wait for the job's end, at most this many seconds, and return the job."""
        end = time.monotonic() + seconds
        while job["status"] in OPEN_JOB and (left := end - time.monotonic()) > 0:
            answer = self.call("GET", f"jobs/{job['id']}?wait={min(_HOLD_IN_SECONDS, int(left))}")
            if answer.status == 200:
                job = answer.content
            elif answer.status not in (429, 503):
                return job | {"status": "unknown", "error": {"code": str(answer.status), "message": answer.problem}}
            if job["status"] in OPEN_JOB:
                time.sleep(min(answer.retry_after, max(0, end - time.monotonic())))
        return job


def _session(url: str, connections: int = 1) -> URLLib3Session:
    return URLLib3Session(
        timeout=_TIMEOUTS_IN_SECONDS,
        proxies=get_environ_proxies(url),
        max_pool_connections=connections,
        # botocore drops this default of urllib3. Without it a body may wait 40 ms until the headers are acknowledged.
        socket_options=[(IPPROTO_TCP, TCP_NODELAY, 1)],
    )


def answer_of(response: Any) -> ApiAnswer:
    """Read botocore's response to its end."""
    try:
        content = json.loads(response.content)
    except ValueError:
        content = response.content.decode(errors="replace")
    advice = response.headers.get("retry-after", "")
    return ApiAnswer(response.status_code, content, int(advice) if advice.isdecimal() else 0)


def _headers_here(stack: DeployedStack) -> dict[str, str]:
    """Return headers with which calls of this machine pass the API's policy on the local cloud."""
    if not stack.local_cloud:
        return {}
    try:
        (api,) = stack.resources["AWS::ApiGateway::RestApi"]
        return headers_of_admitted(stack.clients("apigateway"), api)
    except (KeyError, ClientError):  # a caller needs no permission to read the policy
        return {}


def _why_unreachable(stack: DeployedStack) -> str | None:
    """Return the likely reason, with the fix; None = the API has a public address that AWS gave it."""
    host = urlsplit(str(stack.api_url)).hostname
    if "ApiUrlWithPrivateDns" in stack.outputs:
        return (
            f"{stack.name} has a private API: call it from a machine that reaches the VPC endpoint of {host}, such as "
            "one in its VPC."
        )
    if target := stack.outputs.get("DomainTarget"):
        return f"{host} can't be reached: make a CNAME record of this name to {target}, or wait until DNS knows it."
    return None


def _key(stack: DeployedStack) -> str | None:
    """Return the API's key; None = there is none: callers sign their requests, and an open API ignores signatures."""
    if "ApiKeyId" not in stack.outputs:
        return None
    gateway = stack.clients("apigateway")
    return str(gateway.get_api_key(apiKey=stack.outputs["ApiKeyId"], includeValue=True)["value"])

"""Calls of a deployed API, with the request id in the evidence."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from slipway.stack.api import DeployedApi
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.prompt import request_body
from tools.smoke.asking.trial import Trial

_TIMEOUT_IN_SECONDS = 330
_JOB_IN_SECONDS = 1800


@dataclass(frozen=True)
class Reply:
    """content: the body, parsed if it is JSON."""

    status: int
    content: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code of an error; empty for an answer."""
        error = self.content.get("error") if isinstance(self.content, dict) else None
        return str(error.get("code")) if isinstance(error, dict) else ""

    def __str__(self) -> str:
        return f"{self.status} {self.code}".strip()


def call(
    trial: Trial, method: str, path: str, body: Any = None, *, key: str | None = None, headers: Mapping[str, str] = {}
) -> Reply:
    """Call the API of the question's stack without a signature. key: of the API, sent as each route expects it.

    body: bytes, or an object that becomes JSON.
    """
    given = {"x-api-key": key, "authorization": f"Bearer {key}"} if key else {}
    if body is not None and not isinstance(body, bytes):
        body, given = json.dumps(body).encode(), given | {"content-type": "application/json"}
    url = f"{trial.stack().api_url}{path}"
    request = urllib.request.Request(url, body, {**given, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_IN_SECONDS) as response:
            reply = _reply(response.status, response.read(), response.headers)
    except urllib.error.HTTPError as error:
        reply = _reply(error.code, error.read(), error.headers)
    trial.saw(f"{method} /{path}: {reply}, x-request-id {reply.headers.get('x-request-id')}")
    return reply


def _reply(status: int, content: bytes, headers: Any) -> Reply:
    try:
        parsed = json.loads(content)
    except ValueError:
        parsed = content.decode(errors="replace")
    return Reply(status, parsed, {name.lower(): value for name, value in headers.items()})


def run_job(trial: Trial) -> tuple[DeployedStack, dict[str, Any]]:
    """Submit a job and wait for its end."""
    stack, started = trial.stack(), time.monotonic()
    api = DeployedApi(stack)
    answer = api.call("POST", "jobs", request_body("A list is", stack.bodies, max_tokens=8))
    if answer.status != 202:
        trial.saw(f"POST /jobs: {answer.problem}")
        return stack, {"id": "none", "status": answer.problem}
    job = answer.content
    end = time.monotonic() + trial.seconds_left(_JOB_IN_SECONDS)
    while job["status"] in ("queued", "running") and time.monotonic() < end:
        trial.stop.check()
        job = api.ended(job, 30)
    trial.saw(f"job {job['id']}: {job['status']} after {time.monotonic() - started:.0f} s")
    return stack, job


@dataclass(frozen=True)
class SeenStream:
    """The lines of a stream, each with the seconds since the request."""

    status: int
    lines: tuple[tuple[float, str], ...]

    @property
    def is_whole(self) -> bool:
        """Whether it ended in order."""
        return self.status == 200 and bool(self.lines) and self.lines[-1][1] == "data: [DONE]"

    @property
    def first(self) -> float:
        return self.lines[0][0] if self.lines else 0

    @property
    def seconds(self) -> float:
        return self.lines[-1][0] if self.lines else 0

    @property
    def longest_gap(self) -> float:
        times = [0.0, *(each for each, _ in self.lines)]
        return max((later - earlier for earlier, later in pairwise(times)), default=0)

    @property
    def moments(self) -> int:
        """The number of hundredths of a second in which something arrived."""
        return len({round(at, 2) for at, _ in self.lines})

    @property
    def comments(self) -> int:
        return sum(line.startswith(":") for _, line in self.lines)

    def __str__(self) -> str:
        last = self.lines[-1][1][:200] if self.lines else "no line"
        return (
            f"{self.status}, {len(self.lines)} lines, {self.comments} comments, at {self.moments} moments; first "
            f"after {self.first:.1f} s, last after {self.seconds:.1f} s, longest pause {self.longest_gap:.1f} s; ends "
            f"with {last}"
        )


def stream(trial: Trial, path: str, body: dict[str, Any]) -> SeenStream:
    """POST a body with `stream`, and read the answer as it comes."""
    headers, started = {"content-type": "application/json"}, time.monotonic()
    data = json.dumps(body | {"stream": True}).encode()
    response = DeployedApi(trial.stack()).send("POST", path, data, headers)
    trial.saw(f"POST /{path}: {response.status_code}, x-request-id {response.headers.get('x-request-id')}")
    lines, rest = list[tuple[float, str]](), b""
    with closing(response.raw):
        for piece in response.raw.stream():
            trial.stop.check()
            *whole, rest = (rest + piece).split(b"\n")
            now = time.monotonic() - started
            lines += [(now, line.decode(errors="replace")) for line in whole if line.strip()]
    seen = SeenStream(response.status_code, tuple(lines))
    for at, line in (*lines[:2], *lines[-2:]):
        trial.saw(f"after {at:.1f} s: {line[:150]}")
    return seen

"""API Gateway: makes an event of each request, and a response of the handler's answer or failure."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from simulation.runtime.faults import Faults
from simulation.runtime.functions import Functions
from simulation.runtime.scheduler import Scheduler

TIMEOUT_IN_SECONDS = 29
# The limits of each caller's key, which no caller reaches.
_LIMITS = {"key": "simulated", "tokens_per_minute": "1000000", "tokens_per_month": "1000000000"}
ROUTES = {
    ("POST", "/jobs"): "submit_job",
    ("GET", "/jobs"): "list_jobs",
    ("GET", "/jobs/{id}"): "poll_job",
    ("DELETE", "/jobs/{id}"): "cancel_job",
    ("POST", "/generate"): "generate",
    ("POST", "/files"): "files",
    ("GET", "/files"): "files",
    ("GET", "/files/{id}"): "files",
    ("DELETE", "/files/{id}"): "files",
    ("GET", "/files/{id}/content"): "files",
    ("POST", "/batches"): "batches",
    ("GET", "/batches"): "batches",
    ("GET", "/batches/{id}"): "batches",
    ("POST", "/batches/{id}/cancel"): "batches",
}


class Reply(NamedTuple):
    """A response, as the caller gets it."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass
class Gateway:
    """Invokes the route's function for an authenticated principal and waits for its answer, at most 29 seconds."""

    scheduler: Scheduler
    random: Random
    functions: Functions
    faults: Faults

    def call(self, method: str, resource: str, principal: str, **request: Any) -> Reply:
        """Make one request, in a task of its caller. request: as in http_event()."""
        self.scheduler.sleep(self.random.uniform(0.01, 0.04))
        if self.faults.happens("function throttled", self.faults.rates.function_throttled):
            return Reply(503, {"retry-after": "2"}, {"error": {"code": "overloaded", "message": ""}})
        caller = f"{principal}:session-{self.random.randrange(1000)}"  # the session name must not matter
        event = http_event(method, resource, caller, f"{self.random.getrandbits(64):016x}", **request)
        event["requestContext"]["authorizer"] = _LIMITS
        invocation = self.functions.by_name[ROUTES[method, resource]].start(event)
        in_time = invocation.finished.wait(TIMEOUT_IN_SECONDS)
        self.scheduler.sleep(self.random.uniform(0.01, 0.04))
        if not in_time:
            return Reply(504, {}, {"error": {"code": "gateway_timeout", "message": ""}})
        answer = invocation.result
        if invocation.outcome != "returned":
            return Reply(502, {}, {"error": {"code": "function_failed", "message": ""}})
        # A model may answer with nothing at all.
        is_json = bool(answer["body"]) and answer["headers"]["content-type"] == "application/json"
        # The time of the function is real, and differs from run to run.
        headers = {name: value for name, value in answer["headers"].items() if name != "openai-processing-ms"}
        return Reply(answer["statusCode"], headers, json.loads(answer["body"]) if is_json else answer["body"])


def http_event(
    method: str,
    resource: str,
    caller: str,
    request: str,
    *,
    job: str | None = None,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> dict[str, Any]:
    """Return the members of API Gateway's event that handlers read. caller: principal and session. request: its id."""
    return {
        "resource": resource,
        "httpMethod": method,
        "headers": {"Content-Type": "application/json", **(headers or {})},
        "queryStringParameters": query,
        "pathParameters": {"id": job} if job is not None else None,
        "requestContext": {"requestId": request, "identity": {"accountId": "111122223333", "caller": caller}},
        "body": body.decode() or None,
        "isBase64Encoded": False,
    }

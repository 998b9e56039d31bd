"""How long a start takes: of an endpoint or a machine that is asleep, by its first request, and of a deploy."""

import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from slipway.deployed_api import DeployedApi
from slipway.deployed_stack import DeployedStack
from slipway.hosting.hosting import hosting_of
from slipway.measuring.prompts import Prompt
from slipway.measuring.results import Start
from slipway.measuring.routes import Jobs

# AWS shows no moment between them: SageMaker fetches image and weights before the container's first line.
_BEFORE = "capacity, image and weights"
_EVERY_IN_SECONDS = 1.0


class AwakeError(Exception):
    """There is no start to measure; the message is one sentence."""


def from_zero(stack: DeployedStack, api: DeployedApi, prompt: Prompt, tell: Callable[[str], None]) -> Start:
    """From the first request to its answer, by a job. tell: called with the endpoint's status. Raises AwakeError."""
    status = api.call("GET", "endpoint").content.get("status")
    if not hosting_of(stack).may_sleep or status == "InService":
        raise AwakeError(
            f"--from-zero: {stack.name} is {status}, so nothing starts; wait until it sleeps (idle_minutes or "
            "scale-in), and see python -m slipway status."
        )
    begin, started_at, ready = time.monotonic(), time.time(), 0.0
    job = api.call("POST", "jobs", Jobs(stack, api).body_of(prompt))
    if job.status >= 400:
        raise AwakeError(f"--from-zero: the first request was refused: {job.problem}")
    content = job.content
    while content["status"] in ("queued", "running"):
        time.sleep(_EVERY_IN_SECONDS)
        if not ready and (status := api.call("GET", "endpoint").content.get("status")) == "InService":
            ready = time.monotonic() - begin
        tell(str(status))
        answer = api.call("GET", f"jobs/{content['id']}")
        content = answer.content if answer.status == 200 else content
    whole = time.monotonic() - begin
    if content["status"] != "succeeded":
        raise AwakeError(f"--from-zero: the first request ended as {content['status']} after {whole:.0f} s.")
    return Start("zero", _parts(_first_line(stack, started_at), ready or whole, whole, started_at))


def of_deploy(stack: DeployedStack) -> Start | None:
    """Of an endpoint as it was last created or updated; None = not known."""
    endpoint = stack.endpoint
    if not endpoint or endpoint["EndpointStatus"] != "InService":
        return None
    begin, ready = (endpoint[name].timestamp() for name in ("CreationTime", "LastModifiedTime"))
    first = _first_line(stack, begin)
    if first is None or not begin <= first <= ready:
        return None
    return Start("deploy", {_BEFORE: round(first - begin, 1), "load": round(ready - first, 1)})


def _parts(first: float | None, ready: float, whole: float, started_at: float) -> dict[str, float]:
    """first: the moment of the container's first line; ready, whole: seconds from the request."""
    line = None if first is None else min(max(0.0, first - started_at), ready)
    before = {_BEFORE: line, "load": ready - line} if line is not None else {"until it serves": ready}
    return {name: round(value, 1) for name, value in {**before, "first_answer": whole - ready}.items()}


def _first_line(stack: DeployedStack, since: float) -> float | None:
    """When a container first wrote after that moment; None = it wrote nothing, or there is no log."""
    request: dict[str, Any] = {"logGroupName": hosting_of(stack).log_group, "startTime": int(since * 1000), "limit": 1}
    try:
        pages = stack.clients("logs").get_paginator("filter_log_events").paginate(**request)
        return next((event["timestamp"] / 1000 for page in pages for event in page["events"]), None)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return None

"""Measures how long a start takes: from the first request to a sleeping endpoint or machine, or in the last deploy."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from slipway.hosting.hosting import hosting_of
from slipway.measuring.figures.results import Start
from slipway.measuring.loads import Stop
from slipway.measuring.prompts import Prompt
from slipway.measuring.routes import body_of
from slipway.stack.api import OPEN_JOB, DeployedApi
from slipway.stack.deployed_stack import DeployedStack

_EVERY_IN_SECONDS = 2.0
_LOAD_AND_REST = "load, switch, end of the old instances"
_MOST_STREAMS = 100  # of one FilterLogEvents
# What vLLM and Slipway's own handlers write after they have fetched the weights themselves.
_FETCHED = re.compile(r"(?:Time spent downloading weights for \S+:|\bdownloaded in) ([\d.]+) s")


class AwakeError(Exception):
    """There is no start to measure; the message is one sentence."""


@dataclass(frozen=True)
class _Log:
    """Moments in a container's log. first: Unix time of its first line. weights: seconds to fetch the weights."""

    first: float
    weights: float


def from_zero(stack: DeployedStack, api: DeployedApi, prompt: Prompt, stop: Stop, tell: Callable[[str], None]) -> Start:
    """Measure from the first request, which is a job, to its answer. tell: called with the endpoint's status.

    Raises AwakeError, also if the budget is spent before the answer.
    """
    status = _status(api)
    running = hosting_of(stack).running.total()
    if running or status not in ("InService", "Stopped"):
        raise AwakeError(
            f"--from-zero: {stack.name} must be asleep, but is {status} (running instances: {running}); "
            "docs/measuring.md says how to put a deployment to sleep."
        )
    begin, started_at, ready = time.monotonic(), time.time(), 0.0
    job = api.call("POST", "jobs", body_of(prompt, stack.bodies))
    if job.status >= 400:
        raise AwakeError(f"--from-zero: the first request was refused: {job.problem}")
    content = job.content
    while content["status"] in OPEN_JOB:
        time.sleep(_EVERY_IN_SECONDS)
        if stop.is_set:
            raise AwakeError(f"--from-zero: {stop.reason}, and the first request is not answered yet.")
        status = _status(api)
        if not ready and status == "InService" and hosting_of(stack.unread).running:
            ready = time.monotonic() - begin
        tell(status)
        answer = api.call("GET", f"jobs/{content['id']}")
        content = answer.content if answer.status == 200 else content
    whole = time.monotonic() - begin
    if content["status"] != "succeeded":
        raise AwakeError(f"--from-zero: the first request ended as {content['status']} after {whole:.0f} s.")
    ready = ready or whole
    parts = _parts(stack, _log(stack, started_at, started_at + ready), started_at, ready)
    return Start("zero", parts | {"first_answer": round(whole - ready, 1)})


def of_deploy(stack: DeployedStack) -> Start | None:
    """Measure the endpoint's start in CloudFormation's last change; None = not known, or there is no endpoint."""
    at = {each["ResourceStatus"]: each["Timestamp"].timestamp() for each in _last_change(stack)}
    ready = at.get("CREATE_COMPLETE") or at.get("UPDATE_COMPLETE")
    if ready is None or len(at) < 2:
        return None
    begin = min(at.values())
    streams = _streams(stack, begin)
    log = _log(stack, begin, ready, streams) if streams else None
    if log is None:
        return None
    watch = 0.0 if "CREATE_COMPLETE" in at else _watch(stack)
    parts = _parts(stack, log, begin, ready - begin - watch)
    # The event of an update comes when the old instances are gone. No event tells when the new ones began to serve.
    if "UPDATE_COMPLETE" in at:
        parts[_LOAD_AND_REST] = parts.pop("load")
        parts |= {"watch of the alarms": round(watch, 1)} if watch else {}
    return Start("deploy", parts)


def _status(api: DeployedApi) -> str:
    answer = api.call("GET", "endpoint")
    return str(answer.content["status"]) if answer.status == 200 else answer.problem


def _parts(stack: DeployedStack, log: _Log | None, begin: float, ready: float) -> dict[str, float]:
    """Return the seconds of each part of a start. ready: seconds until it took requests.

    AWS shows no moment before the container's first line.
    """
    if log is None:
        return {"until it serves": round(ready, 1)}
    before = log.first - begin
    fetched = min(log.weights, ready - before)
    first = hosting_of(stack).first_of_start
    parts = {first: before, **({"weights": fetched} if fetched else {}), "load": ready - before - fetched}
    return {name: round(value, 1) for name, value in parts.items()}


def _watch(stack: DeployedStack) -> float:
    """Return the seconds for which SageMaker watched the alarms in the last update; 0 = it did not wait for alarms."""
    policy = ((stack.endpoint or {}).get("LastDeploymentConfig") or {}).get("BlueGreenUpdatePolicy") or {}
    return float(policy.get("TerminationWaitInSeconds", 0))


def _last_change(stack: DeployedStack) -> Iterator[dict[str, Any]]:
    """Yield the endpoint's events in CloudFormation's last operation, the newest first."""
    pages = stack.clients("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack.stack_name)
    has_begun = False
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceType"] == "AWS::SageMaker::Endpoint":
            in_progress = event["ResourceStatus"].endswith("IN_PROGRESS")
            if has_begun and not in_progress:
                return
            has_begun = has_begun or in_progress
            yield event


def _streams(stack: DeployedStack, since: float) -> list[str]:
    """Return the log streams that began after `since`: during an update, older containers still write, too."""
    pages = (
        stack.clients("logs")
        .get_paginator("describe_log_streams")
        .paginate(logGroupName=hosting_of(stack).log_group, orderBy="LastEventTime", descending=True)
    )
    try:
        found = (each for page in pages for each in page["logStreams"])
        return [each["logStreamName"] for each in found if each["creationTime"] / 1000 >= since][:_MOST_STREAMS]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return []


def _log(stack: DeployedStack, since: float, until: float, streams: Sequence[str] = ()) -> _Log | None:
    """Read the moments of a start; None = no line was written in this time, or no log exists. streams: empty = all."""
    chosen = {"logStreamNames": list(streams)} if streams else {}
    pages = (
        stack.clients("logs")
        .get_paginator("filter_log_events")
        .paginate(
            logGroupName=hosting_of(stack).log_group, startTime=int(since * 1000), endTime=int(until * 1000), **chosen
        )
    )
    try:
        events = [event for page in pages for event in page["events"]]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return None
    if not events:
        return None
    fetched = (match for event in events if (match := _FETCHED.search(event["message"])))
    # Each worker of a tensor-parallel model logs the same files.
    return _Log(
        min(event["timestamp"] for event in events) / 1000, max((float(each[1]) for each in fetched), default=0)
    )

"""Measures how long a start takes: from the first request to a sleeping endpoint or machine, or in the last deploy."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from inference_api.shared.model_states import ASLEEP, READY
from slipway.hosting.hosting import hosting_of
from slipway.measuring.figures.results import STREAMED, MeasuredAnswer, Start
from slipway.measuring.loads import Stop
from slipway.measuring.prompts import Prompt
from slipway.measuring.routes import MeasuredRoute, body_of
from slipway.stack.api import OPEN_JOB, DeployedApi
from slipway.stack.deployed_stack import DeployedStack

_EVERY_IN_SECONDS = 2.0
_AT_ZERO_COPIES = ("Stopped", ASLEEP)
_ASLEEP, _AWAKE = ("InService", *_AT_ZERO_COPIES), ("InService", READY)
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


class _FirstJob:
    """The first request as a job. Its answer comes as a whole."""

    part = "first_answer"
    seconds: float | None = None

    def __init__(self, stack: DeployedStack, api: DeployedApi, prompt: Prompt) -> None:
        answer = api.call("POST", "jobs", body_of(prompt, stack.bodies))
        if answer.status >= 400:
            raise AwakeError(f"--from-zero: the first request was refused: {answer.problem}")
        self._api, self._id = api, answer.content["id"]

    def end(self) -> str | None:
        """Return how the request ended, `succeeded` if it was answered; None = it is open."""
        answer = self._api.call("GET", f"jobs/{self._id}")
        status = str(answer.content["status"]) if answer.status == 200 else OPEN_JOB[0]
        return None if status in OPEN_JOB else status


class _FirstStream:
    """The first request as a stream, which is held until the model answers. seconds: until its first token."""

    part = "first_token"
    seconds: float | None = None

    def __init__(self, route: MeasuredRoute, prompt: Prompt) -> None:
        self._answer: MeasuredAnswer | None = None
        self._route, self._prompt = route, prompt
        # An abandoned stream must not keep the command alive.
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def end(self) -> str | None:
        """Return how the request ended, `succeeded` if it was answered; None = it is open."""
        if self._thread.is_alive():
            return None
        if self._answer is None or self._answer.first_token_in_s is None:
            return self._route.problem or (self._answer and self._answer.error) or "a stream without tokens"
        self.seconds = self._answer.first_token_in_s
        return "succeeded"

    def _ask(self) -> None:
        self._answer = self._route.ask(self._prompt)


def from_zero(
    stack: DeployedStack,
    api: DeployedApi,
    route: MeasuredRoute,
    prompt: Prompt,
    stop: Stop,
    tell: Callable[[str], None],
) -> Start:
    """Measure from the first request to its answer, or to its first token where a wake is streamed.

    tell: called with the endpoint's status. Raises AwakeError, also if the budget is spent before the answer.
    """
    status = _status(api)
    # On a shared endpoint instances may run for other models.
    running = 0 if stack.shares_endpoint else hosting_of(stack).running.total()
    if running or status not in (_AT_ZERO_COPIES if stack.component_name else _ASLEEP):
        raise AwakeError(
            f"--from-zero: {stack.name} must be asleep, but is {status} (running instances: {running}); "
            "docs/measuring.md says how to put a deployment to sleep."
        )
    begin, started_at, ready = time.monotonic(), time.time(), 0.0
    streams = route.name in STREAMED and stack.component_name is not None
    first = _FirstStream(route, prompt) if streams else _FirstJob(stack, api, prompt)
    end = None
    while end is None:
        time.sleep(_EVERY_IN_SECONDS)
        if stop.is_set:
            raise AwakeError(f"--from-zero: {stop.reason}, and the first request is not answered yet.")
        status = _status(api)
        if not ready and status in _AWAKE and hosting_of(stack.unread).running:
            ready = time.monotonic() - begin
        tell(status)
        end = first.end()
    whole = first.seconds or time.monotonic() - begin
    if end != "succeeded":
        raise AwakeError(f"--from-zero: the first request ended as {end} after {whole:.0f} s.")
    ready = min(ready or whole, whole)
    parts = _parts(stack, _log(stack, started_at, started_at + ready), started_at, ready)
    return Start("zero", parts | {first.part: round(whole - ready, 1)})


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
    """Return the model's state if the endpoint can sleep, else its status, or the API's words for a refusal."""
    answer = api.call("GET", "endpoint")
    return str(answer.content.get("state") or answer.content["status"]) if answer.status == 200 else answer.problem


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

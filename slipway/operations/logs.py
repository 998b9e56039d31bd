"""Shows the log of a deployment's containers, machines, functions or API."""

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.deployment.nearest import nearest
from slipway.hosting.hosting import hosting_of
from slipway.operations.last_failure import last_failure
from slipway.stack.deployed_stack import DeployedStack, with_stack

CONTAINER, FUNCTIONS, ACCESS = "container", "functions", "access"
_WORKER = "worker"  # the part of a machine that runs jobs
_LOOK_INTERVAL_IN_SECONDS = 2
# Lambda's own lines of each call, and metrics in CloudWatch's embedded format.
_NOISE = re.compile(r'^(START|END|REPORT) RequestId: |^INIT_START |^\s*\{.*"_aws"', re.DOTALL)
_LATE_IN_MS = 30_000  # events of several streams arrive out of order


@dataclass(frozen=True)
class LogOptions:
    """Options of `logs`.

    source: container, functions, access, a part of a machine, or the handler of one function, such as generate.
    since: the age of the oldest line, such as 30s, 15m, 2h or 7d. follow: show new lines until Ctrl-C. everything:
    include Lambda's own lines and the metrics in the functions' logs. holding: all lines with this id of a request or a
    trace; then the source is by default every log that has ids.
    """

    source: str | None = None
    since: str = "1h"
    follow: bool = False
    everything: bool = False
    holding: str | None = None


def run(name: str, region: str | None, options: LogOptions) -> int:
    """Print the lines. Returns exit status 1 if there is no such log."""
    return with_stack(name, region, lambda stack: _show(stack, options))


def _show(stack: DeployedStack, options: LogOptions) -> int:
    source, parts = options.source or CONTAINER, hosting_of(stack).log_parts
    by_id = options.holding and not options.source
    groups = _groups_with_ids(stack) if by_id else log_groups(stack, source)
    if not groups:
        names = [CONTAINER, *parts, FUNCTIONS, ACCESS, *log_groups(stack, FUNCTIONS).values()]
        print(
            f"{source}: {stack.name} has no such log; did you mean {nearest(source, names)}?",
            file=sys.stderr,
        )
        return 1
    start = max(0, int((time.time() - _seconds(options.since)) * 1000))
    seen: dict[str, int] = {}
    shown = 0
    while True:
        for event, origin in _events(groups, stack.clients("logs"), start, options.holding):
            label = _label(event, origin, parts)
            if event["eventId"] in seen or not label:
                continue
            seen[event["eventId"]] = event["timestamp"]
            whole = options.everything or options.holding or label in (CONTAINER, ACCESS)
            if whole or not _NOISE.search(event["message"]):
                shown += 1
                print(_line(event, label if len(groups) > 1 or label != source else None), flush=options.follow)
        if not options.follow:
            break
        start = max(start, max(seen.values(), default=0) - _LATE_IN_MS)
        seen = {event_id: when for event_id, when in seen.items() if when >= start}
        time.sleep(_LOOK_INTERVAL_IN_SECONDS)
    if not shown:
        which = f"with {options.holding} " if options.holding else ""
        print(f"There is no line {which}from the last {options.since}; --since looks further back.", file=sys.stderr)
        if not options.holding and source in (CONTAINER, *parts) and (failure := last_failure(stack)):
            print(*filter(None, [failure.reason, *failure.lines, failure.cause]), sep="\n", file=sys.stderr)
    return 0


def _label(event: dict[str, Any], source: str, parts: Sequence[str]) -> str | None:
    """Return the source, or a machine's stream such as `i-0a1b/worker`; None = the line is of another part."""
    if not parts or source not in (CONTAINER, *parts):
        return source
    stream = str(event["logStreamName"])
    return stream if source == CONTAINER or stream.endswith(f"/{source}") else None


def _seconds(age: str) -> int:
    return int(age[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[age[-1]]


def log_groups(stack: DeployedStack, source: str) -> dict[str, str]:
    """Return the log groups with the names of their sources; empty if the deployment has no such source."""
    hosting = hosting_of(stack)
    if source in (CONTAINER, *hosting.log_parts):
        return {hosting.log_group: source}
    if source == ACCESS:
        return {name: ACCESS for name in [_access_log_group(stack)] if name}
    functions = {each["LoggingConfig"]["LogGroup"]: _name(each["Handler"]) for each in stack.functions}
    return {group: handler for group, handler in functions.items() if source in (FUNCTIONS, handler)}


def _name(handler: str) -> str:
    """Return the name in `inference_api.handlers.<name>.handler`, or in `index.<name>` of a rendered template."""
    return handler.removesuffix(".handler").rpartition(".")[2]


def _groups_with_ids(stack: DeployedStack) -> dict[str, str]:
    """Return the logs whose lines name requests and traces: of the API, its functions and the machines' workers."""
    sources = [ACCESS, FUNCTIONS, *(each for each in hosting_of(stack).log_parts if each == _WORKER)]
    return {group: name for source in sources for group, name in log_groups(stack, source).items()}


def _access_log_group(stack: DeployedStack) -> str | None:
    apis = stack.resources.get("AWS::ApiGateway::RestApi", [])
    stages = stack.clients("apigateway").get_stages(restApiId=apis[0])["item"] if apis else []
    arns = [stage["accessLogSettings"]["destinationArn"] for stage in stages if "accessLogSettings" in stage]
    return arns[0].split(":log-group:")[1].removesuffix(":*") if arns else None


def _events(groups: dict[str, str], logs: Any, start: int, holding: str | None) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the events since `start`, the oldest first. start: milliseconds since the epoch. holding: an id in them."""
    found, wanted = [], {"filterPattern": f'"{holding}"'} if holding else {}
    for group, source in groups.items():
        try:
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=start, **wanted):
                found += [(event, source) for event in page["events"]]
        except ClientError as error:  # the group is created with its first line, or was purged
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
    yield from sorted(found, key=lambda pair: pair[0]["timestamp"])


def _line(event: dict[str, Any], source: str | None) -> str:
    when = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}  {f'{source}  ' if source else ''}{event['message'].rstrip()}"

"""Shows a deployment's endpoint or machines, work, cost and last failure on one page."""

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from botocore.exceptions import ClientError

from slipway.hosting.hosting import DeployedHosting, hosting_of
from slipway.operations.last_failure import last_failure
from slipway.stack.alarms import alarms_on
from slipway.stack.deployed_stack import DeployedStack, with_stack

_LABEL_WIDTH, _TEXT_WIDTH = 12, 100
_GONE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "ResourceNotFoundException")


def run(name: str, region: str | None, *, as_json: bool) -> int:
    """Print the page. Returns exit status 0 for any state: `verify` is the verb that judges."""
    return with_stack(name, region, lambda stack: show(stack, as_json=as_json))


def show(stack: DeployedStack, *, as_json: bool) -> int:
    """Print the page, or one JSON object. Returns the exit status."""
    found = state_of(stack)
    print(json.dumps(found, indent=2) if as_json else "\n".join(_page(stack, found)))
    return 0


def state_of(stack: DeployedStack) -> dict[str, Any]:
    """Make the object that `--json` prints.

    None or an absent member: not known, or the deployment has none. `gone`: it was deleted.
    """
    hosting, failure, (on, _) = hosting_of(stack), last_failure(stack), alarms_on(stack)
    return {
        "name": stack.name,
        "serves": stack.serves,
        "account": stack.account,
        "region": stack.region,
        "local_cloud": stack.local_cloud,
        "answered_by": stack.answered_by,
        "stack": stack.status,
        "version": stack.label.version,
        **hosting.state(),
        "queue": _unless_gone(lambda: _queue(stack, hosting)),
        "open_jobs": _unless_gone(lambda: _open_jobs(stack)),
        "alarms_on": [each.name for each in on],
        "alarms": [asdict(each) for each in on],
        "api_url": stack.api_url,
        "failure": failure and asdict(failure),
    }


def _unless_gone(count: Callable[[], Any]) -> Any:
    """Return the count, or `gone` if its queue or table was deleted, for example by a destroy that failed later."""
    try:
        return count()
    except ClientError as error:
        if error.response["Error"]["Code"] in _GONE:
            return "gone"
        raise


def _queue(stack: DeployedStack, hosting: DeployedHosting) -> dict[str, int]:
    """Count the messages of the job queue. `backlog`: the jobs that wait in SageMaker's own queue."""
    if "JobQueue" not in stack.outputs:
        return {}
    sqs = stack.clients("sqs")
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    counts: dict[str, list[int]] = {}
    for output in ("JobQueue", "JobDeadLetters"):
        url = sqs.get_queue_url(QueueName=stack.outputs[output])["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names))["Attributes"]
        counts[output] = [int(found[name]) for name in names]
    waiting, in_flight = counts["JobQueue"]
    queue = {"waiting": waiting, "in_flight": in_flight, "dead_letters": counts["JobDeadLetters"][0]}
    return queue | hosting.backlog()


def in_queue(queue: dict[str, int]) -> str:
    """Return the jobs in the queue, in words, without dead letters."""
    backlog = f"{queue['backlog']:,} wait in SageMaker's queue; results: " if "backlog" in queue else ""
    return f"{backlog}{queue['waiting']:,} waiting, {queue['in_flight']:,} in flight"


def _open_jobs(stack: DeployedStack) -> int | None:
    """Count the jobs that have not ended, which the sweeper watches; None = the deployment takes no jobs."""
    if "JobTable" not in stack.outputs:
        return None
    request = {"TableName": stack.outputs["JobTable"], "IndexName": "by_due", "Select": "COUNT"}
    pages = stack.clients("dynamodb").get_paginator("scan").paginate(**request)
    return sum(int(page["Count"]) for page in pages)


def _page(stack: DeployedStack, found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['name']}: {found['serves']}"
    yield ""
    for label, text in _rows(stack, found):
        wrapped = textwrap.wrap(text, _TEXT_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
        yield f"{label:{_LABEL_WIDTH}}{wrapped[0]}"
        yield from (f"{'':{_LABEL_WIDTH}}{line}" for line in wrapped[1:])


def _alarms(on: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
    if not on:
        yield "alarms", "none has gone off"
    for number, each in enumerate(on):
        yield (
            "" if number else "alarms",
            f"{each['name']} went off" + (f": {each['meaning']}" if each["meaning"] else ""),
        )
        if each["runbook"]:
            yield "", f"-> {each['runbook']}"


def _rows(stack: DeployedStack, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    changed = stack.described.get("LastUpdatedTime") or stack.described["CreationTime"]
    yield "stack", f"{found['stack']} since {changed:%Y-%m-%d %H:%M} UTC, in {stack.region} of account {stack.account}"
    if found["version"]:
        yield "made by", f"Slipway {found['version']}"
    if found["local_cloud"]:
        yield "local cloud", f"at {found['local_cloud']}; nothing is spent here; {found['answered_by']}"
    yield from hosting_of(stack).lines(found)
    if (queue := found["queue"]) == "gone":
        yield "queue", "gone"
    elif queue:
        yield "queue", f"{in_queue(queue)}; {queue['dead_letters']:,} dead letters"
    if found["open_jobs"] is not None:
        yield "jobs", "the table is gone" if found["open_jobs"] == "gone" else f"{found['open_jobs']:,} open"
    yield from _alarms(found["alarms"])
    if found["api_url"]:
        yield "API", found["api_url"]
    if failure := found["failure"]:
        yield "failure", failure["reason"]
        if failure["cause"]:
            yield "cause", failure["cause"]
        for number, line in enumerate(failure["lines"]):
            yield "log" if number == 0 else "", line

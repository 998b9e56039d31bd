"""Tests that a deploy or update worked: it reads the resources' states, and calls the model."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from slipway.hosting.check import Check
from slipway.hosting.hosting import hosting_of
from slipway.leftovers.retained_resource import BusyEndpointError
from slipway.leftovers.search import find_left
from slipway.operations.last_failure import last_failure
from slipway.shared.aws_errors import UnreachableApiError, sentence
from slipway.stack.alarms import alarms_on
from slipway.stack.api import OPEN_JOB, DeployedApi
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.prompt import request_body

_PROMPT, _MAX_TOKENS = "A list is", 8
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


def run(name: str, region: str | None, *, timeout: int, as_json: bool) -> int:
    """Print each check of the deployment.

    timeout: seconds to wait for a job's answer; an endpoint at zero instances or a sleeping machine must start first.
    Returns the exit status: 0 if all checks are good, 1 if one failed, 2 if AWS could not be asked.
    """
    return with_stack(name, region, lambda stack: _verify(stack, timeout, as_json=as_json))


def _verify(stack: DeployedStack, timeout: int, *, as_json: bool) -> int:
    checks = []
    for check in checks_of(stack, timeout):
        checks.append(check)
        if not as_json:
            print(_line(check), flush=True)
    good = all(check.good for check in checks)
    if as_json:
        content = {"name": stack.name, "good": good, "checks": [asdict(check) for check in checks]}
        print(json.dumps(content, indent=2))
    elif not good:
        bad = sum(not check.good for check in checks)
        print(f"\n{stack.name}: {bad} of {len(checks)} checks failed; `slipway status {stack.name}` says more.")
    return 0 if good else 1


def _line(check: Check) -> str:
    line = f"{'ok' if check.good else 'FAILED':8}{check.name:16}{check.seen}"
    return line if check.good or not check.fix else f"{line}\n{'':24}-> {check.fix}"


def checks_of(stack: DeployedStack, timeout: int) -> Iterator[Check]:
    """Yield each check. The model is called only if its stack is complete and its hosting takes calls."""
    state, hosting = _stack(stack), hosting_of(stack)
    yield state
    yield from hosting.checks()
    yield _alarms(stack)
    if state.good and hosting.takes_calls:
        try:
            yield from _calls(stack, timeout)
        except UnreachableApiError as error:
            yield Check("calls", False, sentence(error))
    yield hosting.still_billing()
    yield _left(stack)


def _stack(stack: DeployedStack) -> Check:
    if stack.status in _COMPLETE:
        return Check("stack", True, stack.status)
    if stack.status.endswith("IN_PROGRESS"):
        return Check("stack", False, stack.status, "wait until CloudFormation is done, then verify again")
    failure = last_failure(stack)
    seen = f"{stack.status}: {failure.reason}" if failure else stack.status
    return Check("stack", False, seen, (failure and failure.cause) or "mend the deployment, then deploy it again")


def _alarms(stack: DeployedStack) -> Check:
    on, count = alarms_on(stack)
    # The calls below end the idle time that this alarm reports.
    on = [each for each in on if each.name != stack.outputs.get("IdleAlarm")]
    if not on:
        return Check("alarms", True, f"{count}, none has gone off")
    places = dict.fromkeys(each.runbook for each in on if each.runbook)
    fix = "; ".join(places) or "aws cloudwatch describe-alarm-history --alarm-name <one of them>"
    return Check("alarms", False, f"{', '.join(each.name for each in on)} went off", fix)


def _calls(stack: DeployedStack, timeout: int) -> Iterator[Check]:
    api, body = DeployedApi(stack), request_body(_PROMPT, stack.bodies, max_tokens=_MAX_TOKENS)
    answer = api.call("POST", "generate", body)
    if answer.status == 202:  # the answer takes longer than API Gateway waits, so it became a job
        yield _job("POST /generate", api.ended(answer.content, timeout), timeout)
    else:
        yield Check("POST /generate", answer.status == 200, "200" if answer.status == 200 else answer.problem)
    if "JobTable" not in stack.outputs:
        return
    answer = api.call("POST", "jobs", body)
    if answer.status == 202:
        yield _job("POST /jobs", api.ended(answer.content, timeout), timeout)
    else:
        yield Check("POST /jobs", False, answer.problem)


def _job(name: str, job: dict[str, Any], timeout: int) -> Check:
    seen = f"the job {job['id']} is {job['status']}"
    if job["status"] in OPEN_JOB:
        return Check(name, False, f"{seen} after {timeout} s", "check whether an instance starts, or raise --timeout")
    if error := job.get("error"):
        seen += f": {error.get('code')}: {error.get('message')}"
    return Check(name, job["status"] == "succeeded", seen)


def _left(stack: DeployedStack) -> Check:
    """Check for resources of earlier stacks and updates that nobody uses. They bill for storage at most."""
    try:
        left = [f"{each.kind} {each.name}" for each in find_left(stack)]
    except BusyEndpointError:
        return Check("left over", True, "not checked while the endpoint is busy")
    bills = f"{len(left)} that bill for storage at most: {'; '.join(left)}"
    return Check("left over", True, bills if left else "nothing of earlier stacks and updates")

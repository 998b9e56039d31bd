"""`python -m slipway call`: asks a deployed model, signed as its callers do it."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slipway.hosting.hosting import hosting_of
from slipway.stack.api import OPEN_JOB, ApiAnswer, DeployedApi, refusal
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.prompt import request_body, text_of


@dataclass(frozen=True)
class CallOptions:
    """as_job: by POST /jobs. chat: as a message. max_tokens: of the answer, None = the deployment's default.

    as_json: the whole answer. timeout: seconds to wait for a job.
    """

    as_job: bool = False
    chat: bool = False
    max_tokens: int | None = None
    as_json: bool = False
    timeout: int = 1800


def run(name: str, region: str | None, text: str, options: CallOptions) -> int:
    """Print the answer's text. Exit status 1 where the API refused or the job brought no answer."""
    return with_stack(name, region, lambda stack: _call(stack, text, options))


def _call(stack: DeployedStack, text: str, options: CallOptions) -> int:
    if problem := refusal(stack, as_job=options.as_job):
        print(problem, file=sys.stderr)
        return 2
    body = request_body(text, stack.bodies, max_tokens=options.max_tokens, chat=options.chat)
    api = DeployedApi(stack)
    if hosting_of(stack).may_sleep and (notice := sleep_notice(api.call("GET", "endpoint"))):
        print(notice, file=sys.stderr)
    answer = api.call("POST", "jobs" if options.as_job else "generate", body)
    if answer.status >= 400:
        advice = f" (again in {answer.retry_after} s)" if answer.retry_after else ""
        print(f"{answer.problem}{advice}", file=sys.stderr)
        return 1
    # POST /generate answers 202 with its job where that takes longer.
    if options.as_job or answer.status == 202:
        return show_job(api.ended(answer.content, options.timeout), options, api.fetch)
    return _show(answer.content, options)


def sleep_notice(description: ApiAnswer) -> str | None:
    """What to tell whoever waits for machines, by the answer of GET /endpoint; None where one is awake, or none is."""
    if description.status != 200 or description.content["status"] in ("InService", "NotDeployed"):
        return None
    usual = description.content["start"]["usual_seconds"]
    if description.content["status"] == "Failed":
        return f"No machine is awake, and the last start failed; it is tried again each minute, and takes {usual} s."
    return f"No machine is awake; one starts for this call, which usually takes {usual} s."


def show_job(job: dict[str, Any], options: CallOptions, fetch: Callable[[str], ApiAnswer]) -> int:
    """Print the job's output or its trouble; the exit status. fetch: a large output by its link."""
    if job["status"] == "succeeded":
        answer = fetch(job["output_url"]) if "output_url" in job else ApiAnswer(200, job["output"])
        if answer.status < 400:
            return _show(answer.content, options)
        print(f"The output of the job {job['id']} was not to be had: {answer.problem}", file=sys.stderr)
        return 1
    if job["status"] in OPEN_JOB:
        print(f"The job {job['id']} is {job['status']} after {options.timeout} s; it goes on.", file=sys.stderr)
    else:
        error = job.get("error", {})
        print(f"The job {job['id']} is {job['status']}: {error.get('code')}: {error.get('message')}", file=sys.stderr)
    return 1


def _show(answer: Any, options: CallOptions) -> int:
    print(json.dumps(answer, indent=2) if options.as_json else text_of(answer) or json.dumps(answer))
    return 0

"""Sends one prompt to a deployed model, signed as callers sign."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_api.shared.model_states import FAILED, READY, STARTING
from llm_hosting.file_errors import why
from slipway.hosting.hosting import hosting_of
from slipway.stack.api import OPEN_JOB, ApiAnswer, DeployedApi, refusal
from slipway.stack.deployed_stack import DeployedStack, with_stack
from slipway.stack.prompt import request_body, text_of


@dataclass(frozen=True)
class CallOptions:
    """Options of `call`.

    as_job: submit a job. chat: send a chat message. images: files to show in it. max_tokens: the limit of the
    answer; None = the deployment's default. as_json: print the whole answer. timeout: seconds to wait for a job.
    """

    as_job: bool = False
    chat: bool = False
    images: tuple[Path, ...] = ()
    max_tokens: int | None = None
    as_json: bool = False
    timeout: int = 1800


def run(name: str, region: str | None, text: str, options: CallOptions) -> int:
    """Print the answer's text. Returns the exit status: 1 if the API refused the call or the job failed."""
    return with_stack(name, region, lambda stack: _call(stack, text, options))


def _call(stack: DeployedStack, text: str, options: CallOptions) -> int:
    if problem := refusal(stack, as_job=options.as_job):
        print(problem, file=sys.stderr)
        return 2
    if options.images and "messages" not in stack.bodies:
        print("--image: the engine of this deployment takes no chats; leave it out.", file=sys.stderr)
        return 2
    try:
        body = request_body(text, stack.bodies, max_tokens=options.max_tokens, chat=options.chat, images=options.images)
    except OSError as error:
        print(f"--image: {error.filename} can't be read: {why(error)}.", file=sys.stderr)
        return 2
    api = DeployedApi(stack)
    if hosting_of(stack).may_sleep and (notice := sleep_notice(api.call("GET", "endpoint"))):
        print(notice, file=sys.stderr)
    answer = api.call("POST", "jobs" if options.as_job else "generate", body)
    if answer.status >= 400:
        advice = f" (try again in {answer.retry_after} s)" if answer.retry_after else ""
        print(f"{answer.problem}{advice}", file=sys.stderr)
        return 1
    # If the answer takes too long, POST /generate answers 202 with a job.
    if options.as_job or answer.status == 202:
        return show_job(api.ended(answer.content, options.timeout), options, api.fetch)
    return _show(answer.content, options)


def sleep_notice(description: ApiAnswer) -> str | None:
    """Return a notice if the caller must wait for a start. description: the answer of GET /endpoint.

    Returns None if a copy or a machine is awake, or if the deployment has none.
    """
    if description.status != 200:
        return None
    status, state = description.content["status"], description.content.get("state")
    if state == READY or (state is None and status == "InService") or status == "NotDeployed":
        return None
    usual, what = description.content["start"]["usual_seconds"], "copy of the model" if state else "machine"
    if FAILED in (state, status.lower()):
        return f"No {what} is awake, and the last start failed. It is tried again each minute; a start takes {usual} s."
    if state == STARTING:
        return f"No {what} is awake; one starts, which usually takes {usual} s."
    return f"No {what} is awake; one starts for this call, which usually takes {usual} s."


def show_job(job: dict[str, Any], options: CallOptions, fetch: Callable[[str], ApiAnswer]) -> int:
    """Print the job's output or its error, and return the exit status. fetch: gets a large output by its link."""
    if job["status"] == "succeeded":
        answer = fetch(job["output_url"]) if "output_url" in job else ApiAnswer(200, job["output"])
        if answer.status < 400:
            return _show(answer.content, options)
        print(f"The output of job {job['id']} can't be fetched: {answer.problem}", file=sys.stderr)
        return 1
    if job["status"] in OPEN_JOB:
        print(f"The job {job['id']} is still {job['status']} after {options.timeout} s; it continues.", file=sys.stderr)
    else:
        error = job.get("error", {})
        print(f"The job {job['id']} is {job['status']}: {error.get('code')}: {error.get('message')}", file=sys.stderr)
    return 1


def _show(answer: Any, options: CallOptions) -> int:
    print(json.dumps(answer, indent=2) if options.as_json else text_of(answer) or json.dumps(answer))
    return 0

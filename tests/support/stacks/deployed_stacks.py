"""Deploys and updates stacks on the local cloud, and connects to their APIs."""

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import requests

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import ACCOUNT, LocalCloud
from local_cloud.deploy import deploy
from support.patience import wait_for
from support.templates.template_parts import Template

Apis = Callable[[str], ApiClient]
Answer = tuple[int, dict[str, str], Any]
Change = Callable[[Template], None]


def edited(stack: Stack, folder: Path, change: Change, name: str) -> Stack:
    """Return a stack with a changed template, as after an edit of its deployment file, under another name."""
    template = stack.template
    change(template)
    path = folder / f"{name}-{time.monotonic_ns()}.json"
    path.write_text(json.dumps(template))
    changed = replace(stack, name=name, template_path=path)
    mark_as_linted(changed)  # cfn-lint has passed the template before the edit
    return changed


def deployed(cloud: LocalCloud, stack: Stack) -> ApiClient:
    """Deploy the stack; returns a client of its API."""
    return connect(cloud, deploy(cloud, stack), stack.region)


def update(cloud: LocalCloud, stack: Stack) -> None:
    """Update the stack, with the clock put forward while old and new instances run. Raises DeployError."""
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(deploy, cloud, stack)
        while not wait([updating], timeout=0.2).done:
            if requests.get(f"{cloud.url}/_slipway/clock", timeout=30).json()["is_awaited"]:
                cloud.advance(60)
        updating.result()


def caller_of(cloud: LocalCloud, api: ApiClient, name: str) -> ApiClient:
    """Return a client of the same API as another IAM user, who may call every route."""
    api_id = api.url.removeprefix(f"{cloud.url}/_aws/execute-api/").partition("/")[0]
    resource = f"arn:aws:execute-api:{api.region}:{ACCOUNT}:{api_id}/*"
    statement = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": resource}
    return replace(api, credentials=cloud.create_user(name, [statement]))


def ended(api: ApiClient, job: dict[str, Any]) -> dict[str, Any]:
    """Wait until the job has ended, and return it."""

    def look() -> dict[str, Any] | None:
        status, _, found = api.call("GET", f"/jobs/{job['id']}?wait=25")
        return found if status == 200 and found["status"] not in ("queued", "running") else None

    return wait_for(look, f"the end of {job}")


def ended_batch(api: ApiClient, batch: Mapping[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Wait until the batch has ended, and return it."""

    def look() -> dict[str, Any] | None:
        found = api.call("GET", f"/batches/{batch['id']}", headers=headers)[2]
        return dict(found) if found["status"] in ("failed", "completed", "expired", "cancelled") else None

    return wait_for(look, f"the end of {batch}")


def resource_ids(cloud: LocalCloud, stack: Stack, kind: str) -> list[str]:
    """Return the physical ids of a deployed stack's resources of one type."""
    resources = cloud.client("cloudformation", region=stack.region).describe_stack_resources(StackName=stack.name)
    return [each["PhysicalResourceId"] for each in resources["StackResources"] if each["ResourceType"] == kind]


def containers(cloud: LocalCloud, name: str) -> list[dict[str, Any]]:
    """Return the running model containers of a stack."""
    answer = requests.get(f"{cloud.url}/_slipway/containers", timeout=30)
    return [each for each in answer.json() if each["endpoint"].startswith(f"{name}-")]


def assert_refused(answer: Answer, status: int, code: str, said: str = "") -> None:
    """Assert that an error has this status and code, our shape, a request id, and `Retry-After` where it must."""
    found, headers, body = answer
    assert (found, body["error"]["code"]) == (status, code), body
    assert said in body["error"]["message"]
    assert {"code", "message", "type", "param"} <= set(body["error"]) <= {"code", "message", "type", "param", "field"}
    assert len(headers["x-request-id"]) > 10
    assert headers["content-type"].startswith("application/json")
    if status in (429, 503):
        assert int(headers["retry-after"]) >= 1

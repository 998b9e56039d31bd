"""Deployed stacks and what their APIs answer: shared by the tests over HTTP."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy
from template_parts import Template

Apis = Callable[[str], ApiClient]
Answer = tuple[int, dict[str, str], Any]
Change = Callable[[Template], None]


def edited(stack: Stack, folder: Path, change: Change, name: str) -> Stack:
    """The stack as it would be after an edit of its deployment file, under a name of the test's own."""
    template = stack.template
    change(template)
    path = folder / f"{name}-{time.monotonic_ns()}.json"
    path.write_text(json.dumps(template))
    return replace(stack, name=name, template_path=path)


def deployed(cloud: LocalCloud, stack: Stack) -> ApiClient:
    """Deploy the stack; a client of its API."""
    return connect(cloud, deploy(cloud, stack), stack.region)


def assert_refused(answer: Answer, status: int, code: str, said: str = "") -> None:
    """The answer has this status and code, our shape, a request id, and advice when to come back."""
    found, headers, body = answer
    assert (found, body["error"]["code"]) == (status, code), body
    assert said in body["error"]["message"]
    assert set(body["error"]) <= {"code", "message", "field"}
    assert len(headers["x-request-id"]) > 10
    assert headers["content-type"].startswith("application/json")
    if status in (429, 503):
        assert int(headers["retry-after"]) >= 1

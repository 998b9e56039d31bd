"""Edits of a deployment, one after the other on a stack that runs: what `diff` says of each is what happens."""

import json
from typing import Any, NamedTuple

import pytest

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from slipway.changes import classify
from support.deployments.good_one import Changes
from support.stacks.deployed_stacks import containers, update
from support.templates.edits import over, stack_of

NAME = "edited"
BASE: Changes = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "tgi", "version": "1.4.0"},
    "hosting": {"instance_type": "ml.g5.xlarge", "update_wait_in_seconds": 60},
}
# Each set of changes applies to BASE. The test compares and deploys the step from one to the next.
STEPS: dict[str, Changes] = {
    "watched longer": {"hosting": {"update_wait_in_seconds": 120}},
    "without jobs": {"jobs": {"enabled": False}, "hosting": {"update_wait_in_seconds": 120}},
    "with keys": {"api": {"auth": "api-key", "keys": {"search": {"rate": 5}}}},
    "signed, with the page": {"api": {"playground": True}},
    "scaled, with a variable": {
        "hosting": {"instance_count": {"min": 1, "max": 2}},
        "serving": {"environment": {"MAX_CONCURRENT_REQUESTS": "16"}},
    },
    "scaled, on another type": {"hosting": {"instance_count": {"min": 1, "max": 2}, "instance_type": "ml.g5.2xlarge"}},
}
PROBES: list[tuple[str, str, Any]] = [
    ("POST", "/generate", {"inputs": "A list is", "parameters": {"max_new_tokens": 2}}),
    ("GET", "/jobs", None),
    ("GET", "/endpoint", None),
    ("GET", "/", None),  # the page
]


class Seen(NamedTuple):
    """The observed state of a stack.

    `ids`: physical ids by logical id.
    `processes`: process ids of the model's containers.
    `answered`: the probes that the caller may make.
    """

    ids: dict[str, str]
    processes: set[int]
    answered: set[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stack]:
    """Make the stack of each step, all under one name."""
    stacks = {
        name: stack_of(NAME, over(BASE, changes), tmp_path_factory.mktemp("step"))
        for name, changes in {"base": {}, **STEPS}.items()
    }
    for each in stacks.values():
        mark_as_linted(each)
    return stacks


def seen(cloud: LocalCloud, client: ApiClient) -> Seen:
    found = cloud.client("cloudformation", region=client.region).describe_stack_resources(StackName=NAME)
    ids = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found["StackResources"]}
    answered = {path for method, path, body in PROBES if status(client, method, path, body) == 200}
    return Seen(ids, {each["pid"] for each in containers(cloud, NAME)}, answered)


def status(client: ApiClient, method: str, path: str, body: Any) -> int:
    data, headers = (json.dumps(body).encode(), {"content-type": "application/json"}) if body else (None, {})
    with client.open(method, path, data, headers) as answer:
        return answer.status


def told(before: Stack, after: Stack) -> dict[str, set[str]]:
    """Return the logical ids of the changes that `diff` reports, by kind."""
    found: dict[str, set[str]] = {}
    for each in classify(before.template, after.template):
        found.setdefault(each.kind, set()).add(each.logical_id)
    return found


def test_diff_reports_of_an_edit_exactly_what_happens(cloud: LocalCloud, made: dict[str, Stack]) -> None:
    outputs, last = deploy(cloud, made["base"]), made["base"]
    for name in STEPS:
        client, stack, changes = connect(cloud, outputs, last.region), made[name], told(last, made[name])
        before = seen(cloud, client)
        assert {"/generate", "/endpoint"} <= before.answered, name
        if "refused" in changes:
            with pytest.raises(DeployError, match="must be deregistered"):
                update(cloud, stack)
            assert seen(cloud, client) == before, f"{name}: nothing has changed"
            continue
        update(cloud, stack)
        after = seen(cloud, client)  # called as the same caller as before
        changed = {each for each in before.ids.keys() & after.ids.keys() if before.ids[each] != after.ids[each]}
        assert before.ids.keys() - after.ids.keys() == changes.get("removed", set()), name
        assert after.ids.keys() - before.ids.keys() == changes.get("added", set()), name
        assert changed == changes.get("replaced", set()), name
        assert (after.processes != before.processes) == ("new-instances" in changes), name
        assert (before.answered <= after.answered) == ("callers-refused" not in changes), name
        outputs, last = deploy(cloud, stack), stack

"""A deployment under a company's limits: its boundary holds, the sweeper never starves, SageMaker captures calls."""

import json
from collections.abc import Iterator

import pytest
import requests

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy
from support.patience import wait_for
from support.stacks.boundaries import EXAMPLE, limit_further, make_boundary
from support.stacks.deployed_stacks import ended, resource_ids

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


@pytest.fixture(scope="module")
def outputs(cloud: LocalCloud, stacks: dict[str, Stack]) -> dict[str, str]:
    make_boundary(cloud)
    return deploy(cloud, stacks["governed"])


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, outputs: dict[str, str], stacks: dict[str, Stack]) -> ApiClient:
    return connect(cloud, outputs, stacks["governed"].region)


@pytest.fixture
def crowded(cloud: LocalCloud) -> Iterator[None]:
    """Let other functions of the account take all places that no function reserves."""
    requests.post(f"{cloud.url}/_slipway/concurrency", json={"others": 1000}, timeout=30)
    yield
    requests.post(f"{cloud.url}/_slipway/concurrency", json={"others": 0}, timeout=30)


def test_a_job_ends_within_the_example_boundary_and_below_a_path(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]
) -> None:
    assert ended(api, api.call("POST", "/jobs", BODY)[2])["status"] == "succeeded"
    iam = cloud.client("iam", region=api.region)
    roles = [iam.get_role(RoleName=name)["Role"] for name in resource_ids(cloud, stacks["governed"], "AWS::IAM::Role")]
    assert {role["Path"] for role in roles} == {"/slipway/"}
    assert {"Key": "cost-centre", "Value": "4711"} in roles[0]["Tags"]


def test_a_narrower_boundary_takes_a_permission_that_the_role_has(cloud: LocalCloud, api: ApiClient) -> None:
    limit_further(cloud, EXAMPLE.replace('"sqs:SendMessage"', '"sqs:ListQueues"'))
    try:
        job = api.call("POST", "/jobs", BODY)[2]
        assert api.call("GET", f"/jobs/{job['id']}")[2]["status"] == "queued", "the message was refused"
    finally:
        limit_further(cloud, EXAMPLE)


def test_the_task_of_each_minute_runs_while_others_take_every_place(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack], crowded: None
) -> None:
    status, _, answer = api.call("POST", "/generate", BODY)
    assert (status, answer["error"]["code"]) == (503, "service_unavailable")
    (group,) = (
        each for each in resource_ids(cloud, stacks["governed"], "AWS::Logs::LogGroup") if "EveryMinute" in each
    )
    logs = cloud.client("logs", region=api.region)

    def sweeps() -> int:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return sum('"task": "sweep_jobs"' in event["message"] for page in pages for event in page["events"])

    before = sweeps()
    cloud.advance(60)
    wait_for(lambda: sweeps() > before or None, "a sweep")


def test_the_execution_role_captures_every_other_invocation(
    cloud: LocalCloud, api: ApiClient, outputs: dict[str, str]
) -> None:
    s3, bucket = cloud.client("s3", region=api.region), outputs["CaptureBucket"]

    def files() -> list[str]:
        return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]

    before = files()
    for _ in range(2):
        assert api.call("POST", "/generate", BODY)[0] == 200
    (new,) = set(files()) - set(before)
    assert new.startswith(f"capture/{outputs['EndpointName']}/AllTraffic/")
    line = json.loads(s3.get_object(Bucket=bucket, Key=new)["Body"].read())
    captured = line["captureData"]
    assert json.loads(captured["endpointInput"]["data"])["inputs"] == BODY["inputs"]
    assert (captured["endpointOutput"]["encoding"], captured["endpointOutput"]["mode"]) == ("JSON", "OUTPUT")

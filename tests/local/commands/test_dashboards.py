"""Dashboards of deployed stacks: CloudWatch takes their bodies, and the metrics that they name really come."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.stacks.deployed_stacks import Apis, ended
from support.templates.dashboards import OURS, Body, Metric, metrics_of

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 8}}
# What each service is asked: one that streams, and one that does not.
STREAMS: dict[str, list[tuple[str, Any]]] = {
    "scaled": [("/generate", BODY), ("/completions", {"prompt": "A list is", "stream": True})],
    "async": [("/generate", BODY)],
}
# These come only if something goes wrong.
OF_TROUBLE = {"BatchesStuck", "JobsCancelled", "JobsEndedBySweeper", "JobsExpired", "JobsFailed"}
# What the local cloud measures of AWS's services in every mode.
OF_AWS = {
    *("4XXError", "5XXError", "Count", "Latency", "Invocation5XXErrors", "ModelLatency"),
    "ApproximateNumberOfMessagesVisible",
}


@pytest.fixture(scope="module", params=STREAMS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def api(apis: Apis, name: str, cloud: LocalCloud) -> ApiClient:
    """Return the API of a service that has streamed, answered and worked on a job, a minute ago."""
    client = apis(name)
    for path, asked in STREAMS[name]:
        with client.open("POST", path, json.dumps(asked).encode(), {"content-type": "application/json"}) as stream:
            assert (stream.status, bool(stream.read())) == (200, True)
    assert ended(client, client.call("POST", "/jobs", BODY)[2])["status"] == "succeeded"
    cloud.advance(60)
    return client


@pytest.fixture(scope="module")
def dashboard(cloud: LocalCloud, stacks: dict[str, Stack], name: str, api: ApiClient) -> Body:
    described = cloud.client("cloudformation", region=api.region).describe_stacks(StackName=name)
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described["Stacks"][0]["Outputs"]}
    assert outputs["Dashboard"].startswith(f"{name}-")
    found = cloud.client("cloudwatch", region=api.region).get_dashboard(DashboardName=outputs["Dashboard"])
    body: Body = json.loads(found["DashboardBody"])
    return body


@pytest.fixture(scope="module")
def listed(cloud: LocalCloud, api: ApiClient) -> list[Metric]:
    """Return the metrics that have come."""
    cloudwatch = cloud.client("cloudwatch", region=api.region)
    pages: list[dict[str, Any]] = list(cloudwatch.get_paginator("list_metrics").paginate())
    found = []
    for each in (each for page in pages for each in page["Metrics"]):
        values = {one["Name"]: one["Value"] for one in each["Dimensions"]}
        found.append(Metric((each["Namespace"], each["MetricName"], tuple(values)), values))
    return found


def test_every_metric_of_ours_comes_unless_it_is_one_of_trouble(dashboard: Body, listed: list[Metric]) -> None:
    named = {each.kind[1] for each in metrics_of(dashboard) if each.kind[0] == OURS}
    came = {each.kind[1] for each in listed if each.kind[0] == OURS and "Deployment" in each.values}
    assert "TokensOut" in named
    assert named - came <= OF_TROUBLE


def test_metrics_of_aws_have_the_dimensions_that_the_dashboard_asks_for(dashboard: Body, listed: list[Metric]) -> None:
    came = [(each.kind[:2], dict(each.values)) for each in listed]
    asked = [each for each in metrics_of(dashboard) if each.kind[0] != OURS and each.kind[1] in OF_AWS]
    assert {each.kind[1] for each in asked} == OF_AWS
    assert [each for each in asked if (each.kind[:2], dict(each.values)) not in came] == []


def test_tokens_of_a_month_without_calls_are_none_and_not_unknown(api: ApiClient, name: str, slipway: Command) -> None:
    last = f"{datetime.now(UTC).replace(day=1) - timedelta(days=1):%Y-%m}"
    found = json.loads(slipway("cost", name, "--month", last, "--json").stdout)
    assert (found["tokens_in"], found["tokens_out"], found["requests"]) == (0, 0, 0)

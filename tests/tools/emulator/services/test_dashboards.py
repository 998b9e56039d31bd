"""CloudWatch dashboards of the local cloud: stored for all regions of an account, and refused if they are invalid."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from local_cloud.dashboard_body import problems
from support.stacks.small_stacks import REGION, StackFailedError, create, delete_stacks, resource, update

TEXT = {"type": "text", "x": 0, "y": 0, "width": 24, "height": 2, "properties": {"markdown": "# Hello"}}


def body(*widgets: dict[str, Any]) -> str:
    return json.dumps({"widgets": list(widgets)})


def graph(*metrics: list[Any], **properties: Any) -> dict[str, Any]:
    shown = {"region": REGION, "metrics": list(metrics), **properties}
    return {"type": "metric", "x": 0, "y": 0, "width": 8, "height": 6, "properties": shown}


METRIC = ["AWS/SQS", "NumberOfMessagesSent", "QueueName", "jobs"]
# Each row: a body that CloudWatch refuses, and a part of its reason.
INVALID = [
    ("no json", "not valid JSON"),
    ("[]", "no object with a list of widgets"),
    (body(TEXT | {"type": "texts"}), "'texts' is none of text"),
    (body(TEXT | {"width": 25}), "25 is no whole number from 1 to 24"),
    (body(TEXT | {"x": 1}), "column 25 of 24"),
    (body(TEXT | {"properties": {}}), "/widgets/0/properties/markdown: missing"),
    (body(graph()), "no list of metrics"),
    (body(graph(METRIC[:3])), "3 parts are no namespace"),
    (body(graph([{"expression": "jobs / 60"}])), "unknown id 'jobs'"),
    (body(graph([*METRIC, {"id": "a"}], [*METRIC, {"id": "a"}])), "'a' stands twice"),
    (body(graph(METRIC, region="")), "/properties/region: missing"),
    (body(graph(*[METRIC] * 501)), "501 of at most 500"),
    (body(*[TEXT] * 501), "501 of at most 500 widgets"),
]


@pytest.mark.parametrize(("text", "reason"), INVALID)
def test_an_invalid_body_is_named(text: str, reason: str) -> None:
    assert any(reason in each for each in problems(text))


def test_a_valid_body_has_no_problem() -> None:
    sent = [*METRIC, {"id": "sent", "visible": False}]
    search = """SEARCH('{AWS/SQS,QueueName} MetricName="sent"', 'Sum', 300) / 60"""
    assert problems(body(TEXT, graph(sent, [{"expression": "sent / PERIOD(sent)"}], [{"expression": search}]))) == []


def test_a_dashboard_is_seen_in_every_region(bare_cloud: LocalCloud) -> None:
    here, there = (bare_cloud.client("cloudwatch", region=region) for region in (REGION, "eu-west-1"))
    here.put_dashboard(DashboardName="seen", DashboardBody=body(TEXT))
    assert json.loads(there.get_dashboard(DashboardName="seen")["DashboardBody"])["widgets"] == [TEXT]


def test_an_invalid_body_is_refused_and_the_old_one_stays(bare_cloud: LocalCloud) -> None:
    cloudwatch = bare_cloud.client("cloudwatch", region=REGION)
    cloudwatch.put_dashboard(DashboardName="kept", DashboardBody=body(TEXT))
    with pytest.raises(ClientError, match="there are 1 validation errors") as refused:
        cloudwatch.put_dashboard(DashboardName="kept", DashboardBody=body(TEXT | {"width": 25}))
    assert refused.value.response["Error"]["Code"] == "InvalidParameterInput"
    assert json.loads(cloudwatch.get_dashboard(DashboardName="kept")["DashboardBody"])["widgets"] == [TEXT]


def test_a_stack_makes_changes_and_deletes_its_dashboard(bare_cloud: LocalCloud) -> None:
    cloudwatch = bare_cloud.client("cloudwatch", region=REGION)

    def dashboard(text: str) -> dict[str, Any]:
        return {"Dashboard": resource("CloudWatch::Dashboard", {"DashboardName": "of-stack", "DashboardBody": text})}

    assert create(bare_cloud, "shown", dashboard(body(TEXT))) == {"Dashboard": "of-stack"}
    with pytest.raises(StackFailedError, match="already exists"):
        create(bare_cloud, "shown-twice", dashboard(body(TEXT)))
    update(bare_cloud, "shown", dashboard(body(TEXT | {"height": 3})))
    assert '"height": 3' in cloudwatch.get_dashboard(DashboardName="of-stack")["DashboardBody"]
    with pytest.raises(StackFailedError, match="no object with a list of widgets"):
        update(bare_cloud, "shown", dashboard("{}"))
    delete_stacks(bare_cloud, REGION)
    assert "of-stack" not in str(cloudwatch.list_dashboards()["DashboardEntries"])


def test_every_log_group_makes_metrics_of_its_lines(bare_cloud: LocalCloud) -> None:
    """The worker of a machine writes them by PutLogEvents."""
    logs, cloudwatch = (bare_cloud.client(each, region=REGION) for each in ("logs", "cloudwatch"))
    logs.create_log_group(logGroupName="machines")
    logs.create_log_stream(logGroupName="machines", logStreamName="worker")
    metrics = {"Namespace": "Test/Machines", "Dimensions": [["Deployment"]], "Metrics": [{"Name": "Jobs"}]}
    line = {"_aws": {"Timestamp": 0, "CloudWatchMetrics": [metrics]}, "Deployment": "gpt2", "Jobs": 1}
    event = {"timestamp": 1, "message": json.dumps(line)}
    logs.put_log_events(logGroupName="machines", logStreamName="worker", logEvents=[event])
    (found,) = cloudwatch.list_metrics(Namespace="Test/Machines")["Metrics"]
    assert found["Dimensions"] == [{"Name": "Deployment", "Value": "gpt2"}]

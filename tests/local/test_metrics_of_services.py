"""The metrics that alarms watch are really put: those of queues, of functions, and those in a function's log."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.small_stacks import REGION, create, function, resource, role

PRINTING = """
import json, time
def handler(event, context):
    metrics = [{"Name": "JobFailed", "Unit": "Count"}]
    directive = {"Namespace": "Slipway", "Dimensions": [["Deployment"]], "Metrics": metrics}
    print(json.dumps({"_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
                      "Deployment": "measured", "JobFailed": event["failed"]}))
    print('{"_aws": "no metric"}')
    if event["failed"]:
        raise ValueError("boom")
"""


def alarm(namespace: str, metric: str, dimension: str, value: Any) -> dict[str, Any]:
    """On as soon as the metric is above 0 within a minute."""
    return resource(
        "CloudWatch::Alarm",
        {
            "Namespace": namespace,
            "MetricName": metric,
            "Dimensions": [{"Name": dimension, "Value": value}],
            "Statistic": "Maximum",
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 0,
            "Period": 60,
            "EvaluationPeriods": 1,
            "TreatMissingData": "notBreaching",
        },
    )


@pytest.fixture(scope="module")
def measured(bare_cloud: LocalCloud) -> dict[str, str]:
    name = {"Fn::GetAtt": ["Dead", "QueueName"]}
    resources = {
        "Role": role([]),
        "Function": function(PRINTING),
        "Dead": resource("SQS::Queue"),
        "DeadLetters": alarm("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", name),
        "OldMessages": alarm("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", name),
        "Errors": alarm("AWS/Lambda", "Errors", "FunctionName", {"Ref": "Function"}),
        "FailedJobs": alarm("Slipway", "JobFailed", "Deployment", "measured"),
    }
    return create(bare_cloud, "measured", resources)


def wait_for_state(cloud: LocalCloud, name: str, state: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Until an alarm has the state, doing `meanwhile` again and again."""
    cloudwatch = cloud.client("cloudwatch", region=REGION)

    def look() -> bool | None:
        meanwhile()
        return cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["StateValue"] == state or None

    wait_for(look, f"{name} to be {state}")


def test_a_message_in_a_queue_turns_its_alarms_on(bare_cloud: LocalCloud, measured: dict[str, str]) -> None:
    wait_for_state(bare_cloud, measured["DeadLetters"], "OK")
    bare_cloud.client("sqs", region=REGION).send_message(QueueUrl=measured["Dead"], MessageBody="x")
    wait_for_state(bare_cloud, measured["DeadLetters"], "ALARM")
    wait_for_state(bare_cloud, measured["OldMessages"], "ALARM")


def test_a_failed_run_and_the_metric_in_its_log_turn_their_alarms_on(
    bare_cloud: LocalCloud, measured: dict[str, str]
) -> None:
    lambda_ = bare_cloud.client("lambda", region=REGION)

    def run(failed: int) -> None:
        lambda_.invoke(FunctionName=measured["Function"], Payload=json.dumps({"failed": failed}))

    run(failed=0)
    for name in ("Errors", "FailedJobs"):
        wait_for_state(bare_cloud, measured[name], "OK")
    for name in ("Errors", "FailedJobs"):
        # One failure would keep it on for 2 s only.
        wait_for_state(bare_cloud, measured[name], "ALARM", meanwhile=lambda: run(failed=1))
    found = bare_cloud.client("cloudwatch", region=REGION).list_metrics(Namespace="Slipway")["Metrics"]
    assert [metric["MetricName"] for metric in found] == ["JobFailed"]

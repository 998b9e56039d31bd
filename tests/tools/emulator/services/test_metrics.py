"""The metrics that alarms watch are put: those of queues and functions, and those in a function's log."""

import json
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, create, function, resource, role

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
    """An alarm that goes off when the metric is above 0 in a minute."""
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


def state_after_a_minute(cloud: LocalCloud, name: str) -> str:
    cloud.advance(70)
    alarms = cloud.client("cloudwatch", region=REGION).describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return str(alarms[0]["StateValue"])


def test_a_message_in_a_queue_turns_its_alarms_on(bare_cloud: LocalCloud, measured: dict[str, str]) -> None:
    assert state_after_a_minute(bare_cloud, measured["DeadLetters"]) == "OK"
    bare_cloud.client("sqs", region=REGION).send_message(QueueUrl=measured["Dead"], MessageBody="x")
    assert state_after_a_minute(bare_cloud, measured["DeadLetters"]) == "ALARM"
    assert state_after_a_minute(bare_cloud, measured["OldMessages"]) == "ALARM"


@pytest.mark.parametrize("name", ["Errors", "FailedJobs"])
def test_a_failed_run_turns_the_alarms_of_lambda_and_of_its_log_on(
    bare_cloud: LocalCloud, measured: dict[str, str], name: str
) -> None:
    lambda_ = bare_cloud.client("lambda", region=REGION)
    states = []
    for failed in (0, 1):
        lambda_.invoke(FunctionName=measured["Function"], Payload=json.dumps({"failed": failed}))
        bare_cloud.advance(30)
        alarms = bare_cloud.client("cloudwatch", region=REGION).describe_alarms(AlarmNames=[measured[name]])
        states.append(alarms["MetricAlarms"][0]["StateValue"])
        bare_cloud.advance(600)
    assert states == ["OK", "ALARM"]

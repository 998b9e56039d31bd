"""EventBridge follows the cloud's clock and invokes only functions that permit it."""

import json

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import REGION, Resources, arn_of, create, function, resource, role, statement

NOTING = """
import os, boto3
def handler(event, context):
    boto3.client("sqs").send_message(QueueUrl=os.environ["NOTES"], MessageBody=os.environ["AWS_LAMBDA_FUNCTION_NAME"])
"""


def scheduled(name: str, *, permitted: bool) -> Resources:
    """A rule that calls a function with this name each hour."""
    rule = {"ScheduleExpression": "rate(1 hour)", "Targets": [{"Id": "function", "Arn": arn_of(name)}]}
    permission = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": name}, "SourceArn": arn_of(f"{name}Rule")}
    resources = {
        name: function(NOTING, FunctionName=name, Environment={"Variables": {"NOTES": {"Ref": "Notes"}}}),
        f"{name}Rule": resource("Events::Rule", rule),
    }
    if permitted:
        principal = {"Principal": "events.amazonaws.com"}
        resources[f"{name}Permission"] = resource("Lambda::Permission", permission | principal)
    return resources


def calls_after(cloud: LocalCloud, notes: str, seconds: float) -> list[str]:
    """The functions that were called while the clock was put forward by this many seconds."""
    sqs = cloud.client("sqs", region=REGION)
    cloud.advance(seconds)
    found = []
    while messages := sqs.receive_message(QueueUrl=notes, WaitTimeSeconds=2).get("Messages"):
        for each in messages:
            found.append(each["Body"])
            sqs.delete_message(QueueUrl=notes, ReceiptHandle=each["ReceiptHandle"])
    return found


def test_a_rule_calls_a_function_that_lets_it_when_it_is_due(bare_cloud: LocalCloud) -> None:
    resources = scheduled("Permitted", permitted=True) | scheduled("Unpermitted", permitted=False)
    shared = {"Role": role([statement("sqs:SendMessage")]), "Notes": resource("SQS::Queue")}
    notes = create(bare_cloud, "scheduled", shared | resources)["Notes"]
    found = list[str]()

    def called() -> bool | None:
        found.extend(calls_after(bare_cloud, notes, 1200))
        return len(found) >= 2 or None

    wait_for(called, "two calls")
    assert set(found) == {"Permitted"}


PUTTING = """
import boto3, os
def handler(event, context):
    try:
        boto3.client("events").put_events(Entries=[{"Source": event["source"], "DetailType": "Ended", "Detail": "{}"}])
    except Exception as error:
        return error.response["Error"]["Code"]
"""


def test_a_role_puts_only_events_of_the_source_that_its_condition_names(bare_cloud: LocalCloud) -> None:
    condition = {"StringEquals": {"events:source": "mine", "events:detail-type": "Ended"}}
    resources = {
        "Putting": function(PUTTING, FunctionName="Putting"),
        "Role": role([statement("events:PutEvents", Condition=condition)]),
    }
    create(bare_cloud, "putting", resources)
    client = bare_cloud.client("lambda", region=REGION)
    answers = [
        json.load(client.invoke(FunctionName="Putting", Payload=json.dumps({"source": source}))["Payload"])
        for source in ("mine", "aws.health")
    ]
    assert answers == [None, "AccessDeniedException"]

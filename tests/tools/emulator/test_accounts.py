"""Accounts and regions of the local cloud are separate, also for resources with the same name."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import Credentials, LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import Resources, arn_of, function, resource, role

SOURCE = """
import boto3
def handler(event, context):
    found = {"account": boto3.client("sts").get_caller_identity()["Account"], "records": len(event.get("Records", []))}
    print(found)
    return found
"""
QUEUE_ACTIONS = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
PLACES = [("222233334444", "us-east-1"), ("333344445555", "us-east-1"), ("333344445555", "eu-west-1")]


def resources() -> Resources:
    allowed = {"Effect": "Allow", "Action": QUEUE_ACTIONS, "Resource": arn_of("Queue")}
    return {
        "Role": role([allowed]),
        "Log": resource("Logs::LogGroup", {"LogGroupName": "/aws/lambda/same"}),
        "Function": function(SOURCE, FunctionName="same") | {"DependsOn": "Log"},
        "Queue": resource("SQS::Queue", {"QueueName": "same"}),
        "Source": resource(
            "Lambda::EventSourceMapping", {"EventSourceArn": arn_of("Queue"), "FunctionName": {"Ref": "Function"}}
        ),
        "Alarm": resource(
            "CloudWatch::Alarm",
            {
                "AlarmName": "same",
                "Namespace": "AWS/Lambda",
                "MetricName": "Invocations",
                "Dimensions": [{"Name": "FunctionName", "Value": "same"}],
                "Statistic": "Sum",
                "Period": 60,
                "EvaluationPeriods": 1,
                "Threshold": 0,
                "ComparisonOperator": "GreaterThanThreshold",
                "TreatMissingData": "notBreaching",
            },
        ),
    }


class Place:
    """An account and a region with a stack of these resources."""

    def __init__(self, cloud: LocalCloud, deployer: Credentials, region: str) -> None:
        self.account, self.cloud, self.deployer, self.region = deployer.account, cloud, deployer, region
        request = {"TemplateBody": json.dumps({"Resources": resources()}), "Capabilities": ["CAPABILITY_IAM"]}
        self.client("cloudformation").create_stack(StackName="same", **request)
        wait_for(lambda: self.status() == "CREATE_COMPLETE" or None, f"the stack in {self.account}")

    def client(self, service: str) -> Any:
        return self.cloud.client(service, region=self.region, credentials=self.deployer)

    def status(self) -> str:
        return str(self.client("cloudformation").describe_stacks(StackName="same")["Stacks"][0]["StackStatus"])

    def lines(self) -> list[str]:
        events = self.client("logs").filter_log_events(logGroupName="/aws/lambda/same")["events"]
        return [each["message"].strip() for each in events if "account" in each["message"]]


@pytest.fixture(scope="module")
def places(bare_cloud: LocalCloud) -> Iterator[list[Place]]:
    deployers = {account: bare_cloud.deployer_in(account) for account, _ in PLACES}
    made = [Place(bare_cloud, deployers[account], region) for account, region in PLACES]
    yield made
    for each in made:
        each.client("cloudformation").delete_stack(StackName="same")


def test_an_account_and_region_sees_only_its_own_resources(bare_cloud: LocalCloud, places: list[Place]) -> None:
    first, *others = places
    answer = json.load(first.client("lambda").invoke(FunctionName="same")["Payload"])
    assert answer == {"account": first.account, "records": 0}
    url = first.client("sqs").get_queue_url(QueueName="same")["QueueUrl"]
    first.client("sqs").send_message(QueueUrl=url, MessageBody="one")
    wait_for(lambda: len(first.lines()) == 2 or None, "the line of the message")
    bare_cloud.advance(30)
    for place, state in [(first, "ALARM"), *((each, "OK") for each in others)]:
        (alarm,) = place.client("cloudwatch").describe_alarms(AlarmNames=["same"])["MetricAlarms"]
        assert alarm["StateValue"] == state, place.account
    assert [each.lines() for each in others] == [[], []]
    for other in others:
        answer = json.load(other.client("lambda").invoke(FunctionName="same")["Payload"])
        assert answer["account"] == other.account


def test_bucket_names_are_global(bare_cloud: LocalCloud, places: list[Place]) -> None:
    places[0].client("s3").create_bucket(Bucket="taken-by-another")
    with pytest.raises(ClientError, match="BucketAlreadyExists"):
        places[1].client("s3").create_bucket(Bucket="taken-by-another")
    template = {"Resources": {"Bucket": resource("S3::Bucket", {"BucketName": "taken-by-another"})}}
    cloudformation = places[1].client("cloudformation")
    cloudformation.create_stack(StackName="bucket", TemplateBody=json.dumps(template))

    def status() -> str:
        return str(cloudformation.describe_stacks(StackName="bucket")["Stacks"][0]["StackStatus"])

    assert wait_for(lambda: status() if not status().endswith("PROGRESS") else None, "the end") == "ROLLBACK_COMPLETE"

"""SNS and EventBridge deliver what their targets let in, on the cloud's clock, and nothing else."""

import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.small_stacks import REGION, Resources, arn_of, create, delete, function, resource, role, statement

NOTIFICATION = {"eventName": "InferenceResult", "inferenceId": "a.1"}
KEY_OF_THE_ACCOUNT = {
    "Effect": "Allow",
    "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
    "Action": "kms:*",
    "Resource": "*",
}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def lets(service: str, action: str | list[str], source: Any = None) -> dict[str, Any]:
    """A statement of a resource's policy that lets a service do something, for one source if it is given."""
    condition = {"Condition": {"ArnEquals": {"aws:SourceArn": source}}} if source else {}
    allow = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Resource": "*"}
    return allow | {"Action": action} | condition


def topic_stack(*statements: dict[str, Any], **queue: Any) -> Resources:
    """A topic with raw delivery to a queue that has these statements, and a dead-letter queue that takes anything."""
    redrive = {"deadLetterTargetArn": arn_of("Dead")}
    subscription = {"TopicArn": {"Ref": "Topic"}, "Protocol": "sqs", "Endpoint": arn_of("Queue")}
    return {
        "Topic": resource("SNS::Topic"),
        "Queue": resource("SQS::Queue", queue),
        "Dead": resource("SQS::Queue"),
        "Subscription": resource(
            "SNS::Subscription", subscription | {"RawMessageDelivery": True, "RedrivePolicy": redrive}
        ),
        "QueuePolicy": resource(
            "SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy(*statements)}
        ),
        "DeadPolicy": resource(
            "SQS::QueuePolicy",
            {"Queues": [{"Ref": "Dead"}], "PolicyDocument": policy(lets("sns", "sqs:SendMessage"))},
        ),
    }


def bodies(cloud: LocalCloud, queue: str, seconds: int) -> list[dict[str, Any]]:
    """The bodies in a queue, which may take so long to arrive."""
    answer = cloud.client("sqs", region=REGION).receive_message(QueueUrl=queue, WaitTimeSeconds=seconds)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def publish(cloud: LocalCloud, topic: str) -> None:
    cloud.client("sns", region=REGION).publish(TopicArn=topic, Message=json.dumps(NOTIFICATION))


def test_a_raw_notification_arrives_as_it_was_published(bare_cloud: LocalCloud) -> None:
    secure = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    only_tls = secure | {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    ids = create(bare_cloud, "raw", topic_stack(lets("sns", "sqs:SendMessage", {"Ref": "Topic"}), only_tls))
    publish(bare_cloud, ids["Topic"])
    assert bodies(bare_cloud, ids["Queue"], 5) == [NOTIFICATION]


def test_a_topic_that_the_queue_does_not_let_in_reaches_its_dead_letter_queue_only(bare_cloud: LocalCloud) -> None:
    other = f"arn:aws:sns:{REGION}:{ACCOUNT}:another"
    ids = create(bare_cloud, "shut", topic_stack(lets("sns", "sqs:SendMessage", other)))
    publish(bare_cloud, ids["Topic"])
    assert bodies(bare_cloud, ids["Dead"], 5) == [NOTIFICATION]
    assert bodies(bare_cloud, ids["Queue"], 0) == []


def test_who_may_not_publish_is_refused_in_spite_of_the_default_policy_of_the_topic(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "publishing", {"Topic": resource("SNS::Topic"), "Other": resource("SNS::Topic")})
    publisher = bare_cloud.create_user("publisher", [statement("sns:Publish", ids["Topic"])])
    sns = bare_cloud.client("sns", region=REGION, credentials=publisher)
    assert sns.publish(TopicArn=ids["Topic"], Message="x")["MessageId"]
    with pytest.raises(ClientError, match="AuthorizationError"):
        sns.publish(TopicArn=ids["Other"], Message="x")


@pytest.mark.parametrize(("actions", "arrives"), [(["kms:GenerateDataKey*", "kms:Decrypt"], True), ([], False)])
def test_a_queue_with_a_key_of_its_own_gets_what_the_key_lets_in(
    bare_cloud: LocalCloud, actions: list[str], arrives: bool
) -> None:
    allowed = [lets("sns", actions)] if actions else []
    resources = topic_stack(lets("sns", "sqs:SendMessage"), KmsMasterKeyId={"Ref": "Key"})
    resources["Key"] = resource("KMS::Key", {"KeyPolicy": policy(KEY_OF_THE_ACCOUNT, *allowed)})
    ids = create(bare_cloud, f"key-{arrives}".lower(), resources)
    publish(bare_cloud, ids["Topic"])
    assert bodies(bare_cloud, ids["Queue" if arrives else "Dead"], 5) == [NOTIFICATION]
    assert bodies(bare_cloud, ids["Dead" if arrives else "Queue"], 0) == []


def rule_stack(*statements: dict[str, Any]) -> Resources:
    """A rule that sends the ends of jobs to a queue with these statements, and what it can't to another one."""
    target = {"Id": "queue", "Arn": arn_of("Queue"), "DeadLetterConfig": {"Arn": arn_of("Dead")}}
    pattern = {"source": ["slipway"], "detail-type": ["Job Ended"], "detail": {"status": ["succeeded"]}}
    return {
        "Rule": resource("Events::Rule", {"EventPattern": pattern, "Targets": [target]}),
        "Queue": resource("SQS::Queue"),
        "Dead": resource("SQS::Queue"),
        "QueuePolicy": resource(
            "SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy(*statements)}
        ),
        "DeadPolicy": resource(
            "SQS::QueuePolicy",
            {"Queues": [{"Ref": "Dead"}], "PolicyDocument": policy(lets("events", "sqs:SendMessage", arn_of("Rule")))},
        ),
    }


def put_events(cloud: LocalCloud, *details: dict[str, Any]) -> None:
    entries = [{"Source": "slipway", "DetailType": "Job Ended", "Detail": json.dumps(each)} for each in details]
    assert cloud.client("events", region=REGION).put_events(Entries=entries)["FailedEntryCount"] == 0


def test_a_rule_sends_the_events_of_its_pattern_to_a_queue(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "ended", rule_stack(lets("events", "sqs:SendMessage", arn_of("Rule"))))
    put_events(bare_cloud, {"id": "1", "status": "failed"}, {"id": "2", "status": "succeeded"})
    (event,) = bodies(bare_cloud, ids["Queue"], 5)
    assert event["detail"] == {"id": "2", "status": "succeeded"}
    assert (event["source"], event["detail-type"], event["account"]) == ("slipway", "Job Ended", ACCOUNT)


def test_an_event_that_the_queue_does_not_let_in_goes_to_the_dead_letter_queue(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "not-let-in", rule_stack(lets("sns", "sqs:SendMessage")))
    put_events(bare_cloud, {"id": "3", "status": "succeeded"})
    (event,) = bodies(bare_cloud, ids["Dead"], 5)
    assert event["detail"]["id"] == "3"
    assert bodies(bare_cloud, ids["Queue"], 0) == []


COUNTER = """
import boto3, threading
from datetime import datetime
def handler(event, context):
    # Not `time`, which is the cloud's own clock in functions.
    boto3.client("dynamodb").put_item(TableName="%s", Item={"pk": {"S": str(datetime.now().timestamp())}})
    if "%s":
        raise ValueError("boom")
"""


def calls(cloud: LocalCloud, table: str) -> list[float]:
    items = cloud.client("dynamodb", region=REGION).scan(TableName=table)["Items"]
    return sorted(float(item["pk"]["S"]) for item in items)


def scheduled_stack(name: str, *, permitted: bool = True, fails: bool = False) -> Resources:
    """A rule that calls a function each minute."""
    rule = {"ScheduleExpression": "rate(1 minute)", "Targets": [{"Id": "function", "Arn": arn_of("Function")}]}
    permission = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "Function"}, "SourceArn": arn_of("Rule")}
    put = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"}
    keys = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }
    resources = {
        "Role": role([put]),
        "Function": function(COUNTER % (name, "x" if fails else "")),
        "Table": resource("DynamoDB::Table", {"TableName": name, "BillingMode": "PAY_PER_REQUEST"} | keys),
        "Rule": resource("Events::Rule", rule),
        "Permission": resource("Lambda::Permission", permission | {"Principal": "events.amazonaws.com"}),
    }
    if not permitted:
        del resources["Permission"]
    return resources


Schedule = Callable[[str, Resources], dict[str, str]]


@pytest.fixture
def schedule(bare_cloud: LocalCloud) -> Iterator[Schedule]:
    """Creates a stack that is gone after the test, so that it does not call functions for ever."""
    names = []

    def create_stack(name: str, resources: Resources) -> dict[str, str]:
        names.append(name)
        return create(bare_cloud, name, resources)

    yield create_stack
    for name in names:
        delete(bare_cloud, name)


def test_a_minute_lasts_two_seconds_at_a_clock_thirty_times_as_fast(bare_cloud: LocalCloud, schedule: Schedule) -> None:
    resources = rule_stack(lets("events", "sqs:SendMessage", arn_of("Rule")))
    del resources["Rule"]["Properties"]["EventPattern"]
    resources["Rule"]["Properties"]["ScheduleExpression"] = "rate(1 minute)"
    queue = schedule("each-minute", resources)["Queue"]
    sqs, sent = bare_cloud.client("sqs", region=REGION), list[int]()

    def pause() -> float:
        return statistics.median(later - earlier for earlier, later in itertools.pairwise(sorted(sent)))

    deadline = time.monotonic() + 60
    while len(sent) < 5 or not 1900 < pause() < 2700:  # a pause of this machine shows in some
        assert time.monotonic() < deadline, sent
        answer = sqs.receive_message(QueueUrl=queue, AttributeNames=["SentTimestamp"], WaitTimeSeconds=5)
        for message in answer.get("Messages", []):
            sent.append(int(message["Attributes"]["SentTimestamp"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            assert json.loads(message["Body"])["detail-type"] == "Scheduled Event"


def test_a_scheduled_run_that_takes_longer_than_a_fast_minute_does_not_overlap_the_next(
    bare_cloud: LocalCloud, schedule: Schedule
) -> None:
    resources = scheduled_stack("unhurried-calls")
    resources["Function"]["Properties"]["Code"]["ZipFile"] += "    threading.Event().wait(5)\n"
    resources["Function"]["Properties"]["Timeout"] = 60
    schedule("unhurried", resources)
    deadline = time.monotonic() + 300
    while len(found := calls(bare_cloud, "unhurried-calls")) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert all(later - earlier > 5 for earlier, later in itertools.pairwise(found)), found


def test_a_rule_needs_the_permission_of_the_function(bare_cloud: LocalCloud, schedule: Schedule) -> None:
    schedule("unpermitted-rule", scheduled_stack("unpermitted-calls", permitted=False))
    schedule("permitted-rule", scheduled_stack("permitted-calls"))
    deadline = time.monotonic() + 60
    while len(calls(bare_cloud, "permitted-calls")) < 2:  # by then the other one was due as well
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert calls(bare_cloud, "unpermitted-calls") == []


def test_a_function_that_fails_is_called_again_by_lambda_unless_its_settings_say_otherwise(
    bare_cloud: LocalCloud, schedule: Schedule
) -> None:
    stacks = {name: scheduled_stack(f"{name}-calls", fails=True) for name in ("once", "again")}
    settings = {"FunctionName": {"Ref": "Function"}, "Qualifier": "$LATEST", "MaximumRetryAttempts": 0}
    stacks["once"]["Settings"] = resource("Lambda::EventInvokeConfig", settings)
    for name, stack in stacks.items():
        rule = stack["Rule"]["Properties"]
        del rule["ScheduleExpression"]
        rule["EventPattern"] = {"source": ["failing"]}
        schedule(name, stack)
    entry = {"Source": "failing", "DetailType": "x", "Detail": "{}"}
    bare_cloud.client("events", region=REGION).put_events(Entries=[entry])
    deadline = time.monotonic() + 60
    # The first retry comes after a minute, the second two minutes later: 2 and 4 s here.
    while len(again := calls(bare_cloud, "again-calls")) < 3 or not calls(bare_cloud, "once-calls"):
        assert time.monotonic() < deadline, again
        time.sleep(0.05)
    assert again[1] - again[0] > 1.9
    assert again[2] - again[1] > 3.9
    assert len(calls(bare_cloud, "once-calls")) == 1

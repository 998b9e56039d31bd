"""The local cloud records which statement of a role allowed a call, and which calls were denied to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_cloud.cloud import Credentials, LocalCloud, free_port
from support.stacks.small_stacks import REGION, create, resource, role

FOLDER = "SLIPWAY_LOCAL_PERMISSIONS"


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCloud]:
    """Run a local cloud that records into the test's folder."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with LocalCloud(port=free_port()) as cloud:
        cloud.wait_until_ready()
        yield cloud


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the record without the hash of the template."""
    found = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert all((folder / f"{each.pop('template')}.template.json").is_file() for each in found)
    return found


def test_allowed_and_denied_calls_of_a_role_are_recorded_once(recording: LocalCloud, tmp_path: Path) -> None:
    trusted = role([])
    account = {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}
    trusted["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] = {"AWS": account}
    statement = {
        "Effect": "Allow",
        "Action": ["sqs:SendMessage", "sqs:GetQueueAttributes"],
        "Resource": ["arn:aws:sqs:*:*:other", {"Fn::GetAtt": ["Queue", "Arn"]}],
    }
    document = {"Version": "2012-10-17", "Statement": [statement]}
    policy = {"PolicyName": "Policy", "Roles": [{"Ref": "Role"}], "PolicyDocument": document}
    resources = {"Role": trusted, "Queue": resource("SQS::Queue"), "Policy": resource("IAM::Policy", policy)}
    ids = create(recording, "recorded", resources)
    session = recording.client("sts", region=REGION).assume_role(
        RoleArn=f"arn:aws:iam::{Credentials('', '').account}:role/{ids['Role']}", RoleSessionName="test"
    )["Credentials"]
    sqs = sqs_of(recording, session)
    for _ in range(2):
        sqs.send_message(QueueUrl=ids["Queue"], MessageBody="x")
        with pytest.raises(sqs.exceptions.ClientError, match="AccessDenied"):
            sqs.purge_queue(QueueUrl=ids["Queue"])
    same = {"stack": "recorded", "role": "Role"}
    queue = recording.client("sqs", region=REGION).get_queue_attributes(QueueUrl=ids["Queue"], AttributeNames=["All"])
    arn = queue["Attributes"]["QueueArn"]
    assert lines(tmp_path) == [
        {**same, "action": "sqs:SendMessage", "policy": "Policy", "statement": 0, "resource": 1},
        {**same, "action": "sqs:PurgeQueue", "denied": arn},
    ]


def sqs_of(cloud: LocalCloud, session: dict[str, str]) -> Any:
    """Return a client that acts with the credentials of a session."""
    return boto3.client(
        "sqs",
        endpoint_url=cloud.url,
        region_name=REGION,
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )

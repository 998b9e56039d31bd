"""The operator's verbs in `hosting.mode: ec2`: what they see in machines, and decide."""

import json
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_hosting.catalog.instances import ec2_instances, machine_prices
from llm_hosting.stack_label import StackLabel
from slipway.hosting.hosting import hosting_of
from slipway.operations.call import sleep_notice
from slipway.operations.last_failure import END_OF_LOG, last_failure
from slipway.operations.logs import LogOptions
from slipway.operations.logs import _show as show_logs
from slipway.operations.status import show
from slipway.operations.verify import checks_of
from slipway.stack.api import ApiAnswer
from slipway.stack.deployed_stack import DeployedStack
from support.repository import ROOT
from support.stand_ins.described_stacks import described_stack
from support.stand_ins.ec2 import LAUNCHED, StandInEc2, instance, volume

NOW = LAUNCHED.timestamp() + 1500
LOG_GROUP = "/slipway/machines/chat-1a2b3c4d"


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)


class Aws:
    """One account with a stack of machines; every service but EC2 and SSM is this object itself."""

    def __init__(self, ec2: StandInEc2, *, machines: tuple[str, ...] = ("i-1",), rows: dict[int, Any] | None = None):
        self.ec2, self.machines, self.rows = ec2, machines, rows or {}
        self.status, self.reason = "UPDATE_IN_PROGRESS", ""  # a stack that is complete would be called
        self.streams: dict[str, list[str]] = {}
        self.parameters: dict[str, str] = {}
        self.meta = SimpleNamespace(endpoint_url="https://apigateway.eu-west-1.amazonaws.com")

    @property
    def stack(self) -> DeployedStack:
        outputs = {"JobTable": "jobs"}
        described = described_stack(self.status, "gpt2 on transformers", parameters=self.parameters, outputs=outputs)
        return DeployedStack(described, lambda service: self.ec2 if service in ("ec2", "ssm") else self)

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **request: [getattr(self, operation)(**request)])

    def get_template_summary(self, StackName: str) -> Any:
        return {"Metadata": json.dumps(StackLabel("gpt2", "ec2").as_metadata())}

    def list_stack_resources(self, StackName: str) -> Any:
        ids = [("AWS::EC2::Instance", each) for each in self.machines] + [("AWS::EC2::LaunchTemplate", "lt-1")]
        return {
            "StackResourceSummaries": [
                {"ResourceType": kind, "ResourceStatus": "CREATE_COMPLETE", "PhysicalResourceId": each}
                for kind, each in ids
            ]
        }

    def get_item(self, TableName: str, Key: Any) -> Any:
        assert TableName == "jobs"
        row = self.rows.get(int(Key["pk"]["S"].removeprefix("machine#")))
        return {"Item": Key | row} if row else {}

    def scan(self, **request: Any) -> Any:
        return {"Count": 0}

    def describe_alarms(self, **request: Any) -> Any:
        return {"MetricAlarms": [], "CompositeAlarms": []}

    def get_resources(self, TagFilters: Any) -> Any:
        return {"ResourceTagMappingList": []}

    def describe_stack_events(self, StackName: str) -> Any:
        failed = {"LogicalResourceId": "SetUp", "ResourceType": "AWS::CloudFormation::WaitCondition"}
        return {"StackEvents": [failed | {"ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": self.reason}]}

    def describe_log_streams(self, logGroupName: str, **request: Any) -> Any:
        if logGroupName != LOG_GROUP:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "DescribeLogStreams")
        return {"logStreams": [{"logStreamName": name} for name in self.streams]}

    def get_log_events(self, logStreamName: str, **request: Any) -> Any:
        return {"events": [{"message": line, "timestamp": 1} for line in self.streams[logStreamName]]}

    def filter_log_events(self, logGroupName: str, startTime: int) -> Any:
        assert logGroupName == LOG_GROUP
        lines = [(stream, line) for stream, lines in self.streams.items() for line in lines]
        return {
            "events": [
                {"eventId": str(at), "timestamp": at, "logStreamName": stream, "message": line}
                for at, (stream, line) in enumerate(lines)
            ]
        }


def row(id_: str = "i-1", *, state: str = "busy", seen: float = 12, **more: float) -> dict[str, Any]:
    """seen: seconds ago."""
    numbers = {"seen_at": NOW - seen} | more
    return {
        "instance_id": {"S": id_},
        "state": {"S": state},
        **{name: {"N": str(value)} for name, value in numbers.items()},
    }


def one(*, state: str = "running", rows: dict[int, Any] | None = None, **more: Any) -> Aws:
    """A deployment of one machine with its disk."""
    aws = Aws(StandInEc2(instance("i-1", state=state, **more), volumes=[volume("vol-1", of="i-1")]), rows=rows)
    aws.ec2.online = ["i-1"] if state == "running" else []
    return aws


def looked(aws: Aws) -> dict[str, tuple[bool, str]]:
    """Each check without a call of the model, by its name."""
    return {check.name: (check.good, check.seen) for check in checks_of(aws.stack, timeout=1)}


def test_a_machine_at_work_passes_each_check() -> None:
    checks = looked(one(rows={0: row()}))
    assert [name for name, (good, _) in checks.items() if not good] == ["stack"], checks
    assert checks["machines"] == (True, "1 of 1: i-1 is running")
    assert checks["configuration"] == (True, "c5.xlarge, by the stack's launch template")
    assert checks["access"] == (True, "IMDSv2 only, no inbound rule, no key pair, encrypted disks")
    assert checks["workers"] == (True, "i-1 is busy, heard of 12 s ago")
    assert checks["SSM agent"] == (True, "Online on i-1")
    assert checks["still billing"] == (True, "no machine of an earlier stack")


def test_a_machine_asleep_is_well_and_the_calls_are_said_to_start_it() -> None:
    checks = looked(one(state="stopped", rows={0: row(state="stopping", seen=7200, boot_in_seconds=93.6)}))
    assert [name for name, (good, _) in checks.items() if not good] == ["stack"], checks
    expected = "1 of 1: i-1 is stopped; the calls below start one, which usually takes 94 s"
    assert checks["machines"] == (True, expected)
    assert (checks["workers"][1], checks["SSM agent"][1]) == ("no machine runs", "no machine runs")


def test_fewer_machines_than_asked_for_are_named() -> None:
    aws = Aws(StandInEc2(instance("i-1"), instance("i-2", state="terminated")), machines=("i-1", "i-2"))
    assert looked(aws)["machines"] == (False, "1 of 2: i-2 of the stack is gone")
    assert hosting_of(aws.stack).takes_calls
    nobody = Aws(StandInEc2())
    assert looked(nobody)["machines"] == (False, "0 of 1: i-1 of the stack is gone")
    assert not hosting_of(nobody.stack).takes_calls


def test_a_stack_without_machines_on_purpose_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(StandInEc2(), machines=())
    assert looked(aws)["machines"] == (False, "the stack has none")
    aws.parameters = {"DeployEndpoint": "false"}
    none = "none, as the stack's parameter DeployEndpoint is false"
    assert looked(aws)["machines"] == (True, none)
    show(aws.stack, as_json=False)
    assert f"machines    {none}" in capsys.readouterr().out.splitlines()


def test_machines_with_the_deployments_tags_that_are_not_the_stacks_still_bill() -> None:
    aws = one(rows={0: row()})
    aws.ec2.instances += [
        instance("i-old", state="stopped"),
        instance("i-gone", state="terminated"),
        instance("i-2", deployment="chatter"),
    ]
    (check,) = (check for check in checks_of(aws.stack, timeout=1) if check.name == "still billing")
    assert (check.good, check.seen) == (False, "i-old (stopped) with the deployment's tags, and not of its stack")
    assert check.fix == "aws ec2 terminate-instances --instance-ids i-old"


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({"tags": {"aws:ec2launchtemplate:version": "2"}}, "i-1 is of lt-1 version 2; the stack's is lt-1 version 3"),
        ({"tags": {"aws:ec2launchtemplate:id": "lt-9"}}, "i-1 is of lt-9 version 3; the stack's is lt-1 version 3"),
        ({"InstanceType": "t3.nano"}, "i-1 is a t3.nano, not the stack's c5.xlarge"),
        ({"Tags": instance("i-1")["Tags"][:2]}, "i-1 is of ? version ?; the stack's is lt-1 version 3"),
    ],
)
def test_another_configuration_than_the_stacks_is_found(more: dict[str, Any], seen: str) -> None:
    assert looked(one(**more))["configuration"] == (False, seen)


def test_every_way_in_is_found() -> None:
    aws = one(MetadataOptions={"HttpTokens": "optional"}, KeyName="mine")
    aws.ec2.inbound = [{"IpProtocol": "tcp", "FromPort": 22}]
    aws.ec2.volumes = [volume("vol-1", of="i-1", encrypted=False)]
    ways = [
        "i-1 answers IMDSv1",
        "sg-1 of i-1 lets connections in",
        "i-1 has the key pair mine",
        "vol-1 of i-1 is not encrypted",
    ]
    assert looked(aws)["access"] == (False, "; ".join(ways))


@pytest.mark.parametrize(
    ("rows", "good", "seen"),
    [
        ({}, False, "i-1 runs, and its worker has never begun"),
        ({0: row("i-0")}, False, "i-1 runs, and its worker has never begun"),
        ({0: row(seen=600)}, False, "i-1 runs, and its worker was last heard of 10 min ago"),
        ({0: row(state="loading", seen=90)}, True, "i-1 is loading, heard of 90 s ago"),
    ],
    ids=["no row", "of the machine before", "silent", "loads"],
)
def test_a_machine_that_runs_has_a_worker_that_says_so(rows: dict[int, Any], good: bool, seen: str) -> None:
    assert looked(one(rows=rows))["workers"] == (good, seen)


@pytest.mark.parametrize("seen", [7200, 80])
def test_a_machine_that_was_just_started_has_time_for_its_worker(seen: float) -> None:
    started = LAUNCHED + timedelta(seconds=1450)
    aws = one(LaunchTime=started, rows={0: row(state="stopping", seen=seen)})
    assert looked(aws)["workers"] == (True, "i-1 starts")


def test_an_agent_that_is_not_online_is_said_and_fails_nothing() -> None:
    aws = one(rows={0: row()})
    aws.ec2.online = []
    assert looked(aws)["SSM agent"] == (True, "not Online on i-1: no session gets in, jobs go on")


def test_the_status_shows_each_machine_its_worker_and_what_they_cost(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(
        StandInEc2(
            instance("i-2", number=1, state="stopped"),
            instance("i-1", PublicIpAddress="203.0.113.9"),
            volumes=[volume("vol-1", of="i-1"), volume("vol-2", of="i-2")],
        ),
        machines=("i-1", "i-2"),
        rows={0: row(boot_in_seconds=80), 1: row("i-2", state="stopping", seen=7300, refused_at=NOW - 180)},
    )
    show(aws.stack, as_json=True)
    found = json.loads(capsys.readouterr().out)
    worker = {"state": "busy", "seen_at": "2026-11-22T12:24:48Z"}
    assert found["machines"][0] == {
        "number": 0,
        "id": "i-1",
        "type": "c5.xlarge",
        "state": "running",
        "worker": worker,
    }
    price = ec2_instances()["c5.xlarge"].usd_per_hour
    assert price
    assert found["usd_per_hour"] == round(price + machine_prices().address_usd_per_hour, 3)
    assert found["usd_per_month_asleep"] == round(34 * machine_prices().volume_usd_per_gb_and_month, 2)
    assert (found["machines_wanted"], found["usual_start_in_seconds"]) == (2, 80)
    show(aws.stack, as_json=False)
    page = capsys.readouterr().out.splitlines()
    for line in (
        "machines    2 of 2, 1 asleep",
        "            0: i-1, c5.xlarge, running; worker busy, heard of 12 s ago",
        "            1: i-2, c5.xlarge, stopped; worker heard of 2 h ago",
        "start       usually 80 s from asleep; EC2 refused one 3 min ago",
        "jobs        0 open",
    ):
        assert line in page
    assert any(line.startswith("cost        about 0.1") and "34 GB of disk, about" in line for line in page)


def test_the_end_of_the_set_ups_log_is_told_apart_from_the_reason() -> None:
    aws = one()
    aws.status = "ROLLBACK_COMPLETE"
    said = "The set-up of machine 0 ended with status 1 after 41 s."
    log = "installing\nERROR: No space left on device"
    aws.reason = f"WaitCondition received failed message: '{said} {END_OF_LOG}\n{log}' for uniqueId: i-1"
    failure = last_failure(aws.stack)
    assert failure
    assert failure.reason.endswith(said)
    assert failure.lines == ["ERROR: No space left on device"]
    assert failure.cause == "the disk is too small: raise hosting.volume_size_in_gb"


def test_without_it_the_machines_log_tells_why() -> None:
    aws = one()
    aws.status, aws.reason = "ROLLBACK_COMPLETE", "WaitCondition timed out. Received 0 conditions when expecting 1"
    aws.streams = {"i-1/setup": ["downloading the model", "error: slow mirror"]}
    failure = last_failure(aws.stack)
    assert failure
    assert failure.lines == ["error: slow mirror"]
    assert failure.cause.startswith("a machine was not set up in time")


def test_the_machines_word_before_the_log_is_known_here() -> None:
    assert END_OF_LOG in (ROOT / "constructs/llm_hosting/machines/user_data.sh").read_text()


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("container", ["i-1/setup  made", "i-1/worker  took a job", "i-2/worker  went to sleep"]),
        ("worker", ["i-1/worker  took a job", "i-2/worker  went to sleep"]),
        ("setup", ["i-1/setup  made"]),
    ],
)
def test_the_log_names_machine_and_part_and_one_part_can_be_asked_for(
    source: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    aws = one()
    metric = '{"_aws": {}, "JobsSucceeded": 1}'
    aws.streams = {"i-1/setup": ["made"], "i-1/worker": ["took a job", metric], "i-2/worker": ["went to sleep"]}
    assert show_logs(aws.stack, LogOptions(source=source)) == 0
    assert [line[21:] for line in capsys.readouterr().out.splitlines()] == lines


def test_where_a_failed_deploy_left_no_log_its_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    aws = one()
    aws.status, aws.reason = "ROLLBACK_COMPLETE", f"'The set-up ended. {END_OF_LOG}\ncurl: could not resolve host'"
    show_logs(aws.stack, LogOptions())
    said = capsys.readouterr().err
    assert "The set-up ended.\ncurl: could not resolve host'" in said
    assert "security.vpc" in said


@pytest.mark.parametrize(
    ("status", "notice"),
    [
        ("InService", None),
        ("NotDeployed", None),
        ("Stopped", "No machine is awake; one starts for this call, which usually takes 95 s."),
        ("Starting", "No machine is awake; one starts for this call, which usually takes 95 s."),
        (
            "Failed",
            "No machine is awake, and the last start failed. It is tried again each minute; a start takes 95 s.",
        ),
    ],
)
def test_whoever_calls_machines_asleep_is_told_how_long_a_start_takes(status: str, notice: str | None) -> None:
    content = {"status": status, "start": {"since": None, "usual_seconds": 95}}
    assert sleep_notice(ApiAnswer(200, content)) == notice
    assert sleep_notice(ApiAnswer(503, "?")) is None

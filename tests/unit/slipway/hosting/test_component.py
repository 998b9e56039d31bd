"""The operator's verbs on an endpoint whose model is an inference component: what they see in copies, and decide."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_hosting.stack_label import StackLabel
from slipway.hosting.hosting import hosting_of
from slipway.operations.call import sleep_notice
from slipway.operations.last_failure import last_failure
from slipway.operations.status import show
from slipway.operations.verify import checks_of
from slipway.stack.api import ApiAnswer
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack
from support.stand_ins.ec2 import StandInEc2

NOW = 1_800_000_000.0
TODAY = "2027-01-15"
NAME, ENDPOINT = "chat-1a2b3c4d", "chat-1a2b3c4d-ic"
LOG_GROUP = f"/aws/sagemaker/InferenceComponents/{NAME}"


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)


class Aws:
    """One account with a stack whose model is a component; every service but EC2 is this object itself.

    copies: current and desired. instances: the same, of the endpoint. wake: attributes of the row of the model's sleep.
    is_complete: whether the stack has ever been, so that it has outputs. shares: whether the endpoint is another
    stack's.
    """

    def __init__(
        self,
        *,
        copies: tuple[int, int] = (1, 1),
        instances: tuple[int, int] = (1, 1),
        status: str = "InService",
        reason: str = "",
        wake: dict[str, Any] | None = None,
        is_complete: bool = True,
        sleeps: bool = True,
        shares: bool = False,
    ) -> None:
        self.copies, self.instances, self.component_status, self.reason = copies, instances, status, reason
        self.wake, self.is_complete, self.sleeps = wake, is_complete, sleeps
        self.shares = shares
        self.status = "UPDATE_IN_PROGRESS"  # a stack that is complete would be called
        self.lines: list[str] = []
        self.meta = SimpleNamespace(endpoint_url="https://apigateway.eu-west-1.amazonaws.com")

    @property
    def stack(self) -> DeployedStack:
        outputs = {"EndpointName": ENDPOINT, "InferenceComponentName": NAME, "JobTable": "jobs"}
        if self.shares:
            del outputs["EndpointName"]
        described = described_stack(
            self.status, "gpt2 on lmi-vllm", parameters={}, outputs=outputs if self.is_complete else {}
        )
        return DeployedStack(described, lambda service: StandInEc2() if service == "ec2" else self)

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **request: [getattr(self, operation)(**request)])

    def get_template_summary(self, StackName: str) -> Any:
        types = ["AWS::Lambda::Function", "AWS::SageMaker::InferenceComponent"]
        return {"Metadata": json.dumps(StackLabel("gpt2", "realtime").as_metadata()), "ResourceTypes": types}

    def list_stack_resources(self, StackName: str) -> Any:
        ids = {
            "AWS::Logs::LogGroup": LOG_GROUP,
            "AWS::SageMaker::EndpointConfig": "Config-1A",
            "AWS::Lambda::Function": "generate",
        }
        return {
            "StackResourceSummaries": [
                {
                    "LogicalResourceId": kind,
                    "ResourceType": kind,
                    "ResourceStatus": "CREATE_COMPLETE",
                    "PhysicalResourceId": each,
                }
                for kind, each in ids.items()
            ]
        }

    def get_function_configuration(self, FunctionName: str) -> Any:
        asleep = {"WAKES_PER_DAY": "24", "START_ESTIMATE_IN_SECONDS": "468"} if self.sleeps else {}
        return {"Environment": {"Variables": {"REQUEST_SCHEMA": "{}"} | asleep}}

    def describe_endpoint(self, EndpointName: str) -> Any:
        assert EndpointName == ENDPOINT
        current, desired = self.instances
        variant = {"VariantName": "AllTraffic", "CurrentInstanceCount": current, "DesiredInstanceCount": desired}
        return {
            "EndpointStatus": "InService",
            "EndpointConfigName": "Config-1A",
            "ProductionVariants": [variant],
        }

    def describe_endpoint_config(self, EndpointConfigName: str) -> Any:
        return {"ProductionVariants": [{"VariantName": "AllTraffic", "InstanceType": "ml.g6.2xlarge"}]}

    def describe_inference_component(self, InferenceComponentName: str) -> Any:
        assert InferenceComponentName == NAME
        if not self.component_status:
            message = f'Could not find inference component "{NAME}".'
            raise ClientError({"Error": {"Code": "ValidationException", "Message": message}}, "Describe")
        current, desired = self.copies
        return {
            "EndpointName": ENDPOINT,
            "InferenceComponentStatus": self.component_status,
            "RuntimeConfig": {"CurrentCopyCount": current, "DesiredCopyCount": desired},
        } | ({"FailureReason": self.reason} if self.reason else {})

    def get_item(self, TableName: str, Key: Any) -> Any:
        assert (TableName, Key) == ("jobs", {"pk": {"S": "wake"}})
        texts = {name: {"S": value} for name, value in (self.wake or {}).items() if isinstance(value, str)}
        numbers = {name: {"N": str(value)} for name, value in (self.wake or {}).items() if name not in texts}
        return {"Item": Key | texts | numbers} if self.wake else {}

    def scan(self, **request: Any) -> Any:
        return {"Count": 0}

    def describe_alarms(self, **request: Any) -> Any:
        return {"MetricAlarms": [], "CompositeAlarms": []}

    def get_resources(self, TagFilters: Any) -> Any:
        return {"ResourceTagMappingList": []}

    def list_endpoints(self, NameContains: str) -> Any:
        return {"Endpoints": [{"EndpointName": name} for name in (ENDPOINT, NAME, "chat-99887766-ic", "chatter-1-ic")]}

    def describe_log_streams(self, **request: Any) -> Any:
        assert request["logGroupName"] == LOG_GROUP
        return {"logStreams": [{"logStreamName": "AllTraffic/1"}]}

    def get_log_events(self, **request: Any) -> Any:
        return {"events": [{"timestamp": at, "message": line} for at, line in enumerate(self.lines)]}

    def describe_stack_events(self, StackName: str) -> Any:
        return {"StackEvents": []}


def page(aws: Aws, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the lines of `status` by their labels."""
    show(aws.stack, as_json=False)
    lines = capsys.readouterr().out.splitlines()[2:]
    return {line[:12].strip(): line[12:] for line in lines if line[:12].strip()}


def looked(aws: Aws) -> dict[str, tuple[bool, str]]:
    return {check.name: (check.good, check.seen) for check in checks_of(aws.stack, timeout=1)}


@pytest.mark.parametrize(
    ("aws", "copies", "cost"),
    [
        (Aws(), "InService, 1 of 1 copies, ready", "about 1.22 USD an hour for the instances that run now"),
        (Aws(copies=(0, 0), instances=(0, 0)), "InService, 0 of 0 copies, asleep", "no instance runs"),
        (Aws(copies=(0, 0), instances=(0, 0), status="Failed"), "Failed, 0 of 0 copies, failed", "no instance runs"),
        (
            Aws(copies=(0, 1), status="Updating", shares=True),
            "Updating, 0 of 1 copies, starting",
            "the instances are those of the shared endpoint",
        ),
        (
            Aws(copies=(0, 0)),
            "InService, 0 of 0 copies, asleep",
            "about 1.22 USD an hour for the instances that run now; no copy is on them",
        ),
        (
            Aws(copies=(0, 1), instances=(0, 1), status="Updating", wake={"asked_at": NOW - 90, "state": "starting"}),
            "Updating, 0 of 1 copies, asked for 90 s ago; it waits for an instance",
            "no instance runs",
        ),
    ],
)
def test_status_tells_asleep_starting_and_ready(
    aws: Aws, copies: str, cost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = page(aws, capsys)
    assert shown["endpoint"] == f"{ENDPOINT}: InService"
    assert shown["component"] == f"{NAME}: {copies}"
    assert shown["cost"].startswith(cost)
    assert "failure" not in shown


@pytest.mark.parametrize(
    ("wake", "line"),
    [
        (None, "0 of 24 today; one usually takes 468 s"),
        ({"day": TODAY, "asks": 3, "wake_in_seconds": 412.3}, "3 of 24 today; one usually takes 412 s"),
        ({"day": "2027-01-14", "asks": 9}, "0 of 24 today; one usually takes 468 s"),
    ],
)
def test_status_tells_the_wakes_of_the_day(
    wake: dict[str, Any] | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert page(Aws(wake=wake), capsys)["wakes"] == line


def test_a_component_that_never_sleeps_has_no_wakes(capsys: pytest.CaptureFixture[str]) -> None:
    aws = Aws(sleeps=False)
    assert "wakes" not in page(aws, capsys)
    assert not hosting_of(aws.stack).may_sleep


@pytest.mark.parametrize(
    ("aws", "reason", "cause"),
    [
        (
            Aws(copies=(0, 0), status="Failed", reason="CapacityError: Unable to provision requested ML capacity"),
            "CapacityError: Unable to provision",
            "AWS has no free instance",
        ),
        (
            Aws(copies=(0, 1), wake={"asked_at": NOW - 2000, "state": "starting"}),
            "a copy was asked for 33 min ago, and none is ready",
            "weights and cache do not fit",
        ),
        (  # asked for again and again
            Aws(
                copies=(0, 1),
                instances=(0, 1),
                wake={"asked_at": NOW - 30, "began_at": NOW - 2000, "state": "starting"},
            ),
            "a copy was asked for 33 min ago, and none is ready: no instance has started",
            "AWS has no free instance",
        ),
        (
            Aws(copies=(0, 1), wake={"asked_at": NOW - 60, "state": "starting", "reason": "no capacity yet"}),
            "no capacity yet",
            "weights and cache do not fit",
        ),
        (
            Aws(copies=(0, 0), wake={"asked_at": NOW - 60, "state": "failed", "reason": "the quota is 0"}),
            "the quota is 0",
            "quota is too small",
        ),
    ],
)
def test_a_start_that_fails_or_takes_too_long_is_a_failure_with_the_log_of_the_copy(
    aws: Aws, reason: str, cause: str
) -> None:
    has_begun = cause.startswith("weights")
    aws.lines = ["INFO loading", "ERROR torch.OutOfMemoryError: CUDA out of memory"] if has_begun else []
    failure = last_failure(aws.stack)
    assert failure
    assert reason in failure.reason
    assert cause in failure.cause
    assert failure.lines == aws.lines[1:2]


@pytest.mark.parametrize(
    "aws",
    [
        Aws(wake={"state": "failed", "reason": "the quota is 0", "asked_at": NOW}),  # since then a copy has come up
        Aws(copies=(0, 0), wake={"state": "ready", "asked_at": NOW - 90_000}),
        Aws(copies=(0, 1), wake={"state": "starting", "asked_at": NOW - 700}),
        Aws(copies=(0, 1), wake={"state": "ready", "asked_at": NOW - 9000, "ready_at": NOW - 8000}),  # by the alarm
    ],
)
def test_a_wake_within_twice_its_usual_time_is_no_failure(aws: Aws) -> None:
    assert last_failure(aws.stack) is None


@pytest.mark.parametrize(
    ("aws", "good", "seen"),
    [
        (Aws(), True, f"{NAME} is InService with 1 of 1 copies"),
        (
            Aws(copies=(0, 0), instances=(0, 0)),
            True,
            f"{NAME} is InService with 0 of 0 copies; the calls below wake it, which usually takes 468 s",
        ),
        (
            Aws(copies=(0, 1), status="Updating", wake={"asked_at": NOW - 90, "state": "starting"}),
            True,
            f"{NAME} is Updating with 0 of 1 copies; the calls below wait for a copy",
        ),
        (Aws(copies=(1, 2), status="Updating"), True, f"{NAME} is Updating with 1 of 2 copies"),
        (
            Aws(copies=(0, 1), status="Updating", wake={"asked_at": NOW - 2000, "state": "starting"}),
            False,
            f"{NAME} is Updating with 0 of 1 copies",
        ),
        (Aws(status="Creating", copies=(0, 1)), False, f"{NAME} is Creating with 0 of 1 copies"),
        (Aws(status="Failed", reason="No space."), False, f"{NAME} is Failed with 1 of 1 copies: No space."),
        (Aws(reason="A copy failed."), False, f"{NAME} is InService with 1 of 1 copies: A copy failed."),
        (Aws(status=""), False, f"there is no inference component {NAME}"),
    ],
)
def test_verify_judges_the_component_beside_its_endpoint(aws: Aws, good: bool, seen: str) -> None:
    found = looked(aws)
    assert found["component"] == (good, seen)
    assert found["endpoint"] == (True, f"{ENDPOINT} is InService")
    assert hosting_of(aws.stack).takes_calls == good


def test_an_endpoint_at_rest_is_good_and_says_that_the_calls_start_an_instance() -> None:
    assert looked(Aws(copies=(0, 0), instances=(0, 0)))["instances"] == (True, "0 of 0: the calls below start one")


@pytest.mark.parametrize("began_seconds_ago", [90, 2000])
def test_instances_may_start_while_the_model_wakes_in_time(began_seconds_ago: int) -> None:
    wake = {"asked_at": NOW - began_seconds_ago, "state": "starting"}
    found = looked(Aws(copies=(0, 1), instances=(0, 1), status="Updating", wake=wake))
    assert found["instances"] == (began_seconds_ago == 90, "0 of 1")


def test_endpoints_of_both_kinds_of_earlier_stacks_still_bill() -> None:
    good, seen = looked(Aws())["still billing"]
    assert (good, seen) == (False, f"{NAME}, chat-99887766-ic of an earlier stack")


def test_a_stack_that_was_never_complete_is_known_by_its_template() -> None:
    stack = Aws(is_complete=False).stack
    assert (stack.component_name, stack.endpoint_name) == (NAME, ENDPOINT)
    assert hosting_of(stack).log_group == LOG_GROUP


@pytest.mark.parametrize(
    ("state", "notice"),
    [
        ("ready", None),
        ("asleep", "No copy of the model is awake; one starts for this call, which usually takes 412 s."),
        ("starting", "No copy of the model is awake; one starts, which usually takes 412 s."),
        (
            "failed",
            "No copy of the model is awake, and the last start failed. It is tried again each minute; "
            "a start takes 412 s.",
        ),
    ],
)
def test_whoever_calls_a_model_that_sleeps_is_told_how_long_a_wake_takes(state: str, notice: str | None) -> None:
    words = {"ready": "InService", "asleep": "Stopped", "starting": "Starting", "failed": "Failed"}
    content = {"status": words[state], "state": state, "start": {"since": None, "usual_seconds": 412}}
    assert sleep_notice(ApiAnswer(200, content)) == notice

"""The local cloud says what it would ignore, and what it claims to emulate is really read."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import WaiterError

from local_cloud.cloud import PYTHON, free_port
from local_cloud.emulated_properties import DATA, findings

HERE = Path(__file__).parent
TEMPLATE: dict[str, Any] = json.loads((HERE / "every_emulated_property.json").read_text())
EMULATED = {name: lists["emulated"] for name, lists in json.loads(DATA.read_text()).items() if lists["emulated"]}
STACK: dict[str, Any] = {"StackName": "recorded", "Capabilities": ["CAPABILITY_NAMED_IAM"]}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the recording emulator listens."""
    port = free_port()
    command = [str(PYTHON), str(HERE.parent / "support" / "recording_emulator.py"), "--port", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as emulator:
        yield f"http://127.0.0.1:{port}"
        assert emulator.stdin
        emulator.stdin.close()


def client(service: str, url: str) -> Any:
    """A client that tries again while the emulator starts."""
    root = {"aws_access_key_id": "000000000000", "aws_secret_access_key": "unused"}
    patient = Config(retries={"mode": "standard", "total_max_attempts": 8})
    return boto3.client(service, endpoint_url=url, region_name="us-east-1", config=patient, **root)


def wait_for(waiter: str, url: str) -> list[str]:
    """The reasons why the stack does not come to the waiter's state, none when it does."""
    cloudformation = client("cloudformation", url)
    try:
        cloudformation.get_waiter(waiter).wait(StackName="recorded", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    except WaiterError as error:
        events = cloudformation.describe_stack_events(StackName="recorded")["StackEvents"]
        return [str(error), *(event.get("ResourceStatusReason", "") for event in events)]
    return []


def update(resource: str, properties: dict[str, Any], url: str) -> list[str]:
    """Update the stack with other properties of one resource; the reasons of its failure, none when it succeeds."""
    template = TEMPLATE | {"Resources": dict(TEMPLATE["Resources"])}
    known = template["Resources"][resource]
    template["Resources"][resource] = known | {"Properties": known["Properties"] | properties}
    client("cloudformation", url).update_stack(TemplateBody=json.dumps(template), **STACK)
    return wait_for("stack_update_complete", url)


@pytest.fixture(scope="module")
def reads(url: str) -> dict[str, set[str]]:
    """The paths of properties that were read while a stack with all of them was made, updated and used, by type."""
    client("cloudformation", url).create_stack(TemplateBody=json.dumps(TEMPLATE), **STACK)
    assert wait_for("stack_create_complete", url) == []
    policy = {"MaximumExecutionTimeoutInSeconds": 601, "TerminationWaitInSeconds": 0}
    assert update("Endpoint", {"DeploymentConfig": {"BlueGreenUpdatePolicy": policy}}, url) == []
    client("lambda", url).invoke(FunctionName="recorded")  # its log group is looked up when it is called
    assert update("Rule", {"Description": "changed"}, url) == []
    # Targets are read when an event comes.
    client("events", url).put_events(Entries=[{"Source": "recorded", "DetailType": "x", "Detail": '{"id": "1"}'}])
    answer = requests.get(f"{url}/_slipway/property-reads", timeout=20).json()
    return {name: set(paths) for name, paths in answer.items()}


@pytest.mark.parametrize("resource_type", EMULATED)
def test_a_property_listed_as_emulated_is_read(resource_type: str, reads: dict[str, set[str]]) -> None:
    assert set(EMULATED[resource_type]) - reads[resource_type] == set()


@pytest.mark.usefixtures("reads")
def test_a_variable_of_an_access_log_that_would_stay_empty_is_named(url: str) -> None:
    log_group = "arn:aws:logs:us-east-1:000000000000:log-group:/recorded"
    setting = {"DestinationArn": log_group, "Format": "$context.requestId $context.awsEndpointRequestId"}
    reasons = update("Stage", {"AccessLogSetting": setting}, url)
    assert any("$context.awsEndpointRequestId" in reason for reason in reasons)


def test_a_template_of_emulated_properties_has_no_findings() -> None:
    assert findings(TEMPLATE) == []


def test_an_unknown_type_is_named() -> None:
    template = {"Resources": {"Machine": {"Type": "AWS::EC2::Instance"}}}
    assert findings(template) == [
        "Machine: the local cloud does not know the type AWS::EC2::Instance; "
        "emulate it, then list it in emulated_properties.json."
    ]


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"CanarySetting": {"PercentTraffic": 10}}, "CanarySetting"),
        ({"MethodSettings": [{"HttpMethod": "*", "CachingEnabled": True}]}, "MethodSettings.CachingEnabled"),
        (
            {"AccessLogSetting": {"Fn::If": ["Logged", {"Colour": 1}, {"Ref": "AWS::NoValue"}]}},
            "AccessLogSetting.Colour",
        ),
    ],
)
def test_a_property_that_would_be_ignored_is_named_at_any_depth(properties: dict[str, Any], path: str) -> None:
    template = {"Resources": {"Stage": {"Type": "AWS::ApiGateway::Stage", "Properties": properties}}}
    assert findings(template) == [
        f"Stage (AWS::ApiGateway::Stage): the local cloud would ignore {path}; emulate it, "
        "or list it in emulated_properties.json as not emulated with a reason."
    ]


def test_an_empty_value_asks_for_nothing() -> None:
    properties = {"ApiStages": [{"Stage": "v1", "Throttle": {}}]}
    assert findings({"Resources": {"Plan": {"Type": "AWS::ApiGateway::UsagePlan", "Properties": properties}}}) == []


def test_an_attribute_that_would_be_ignored_is_named() -> None:
    template = {"Resources": {"Stage": {"Type": "AWS::ApiGateway::Stage", "UpdatePolicy": {}}}}
    assert len(findings(template)) == 1
    assert "UpdatePolicy" in findings(template)[0]

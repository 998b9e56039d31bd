"""The local cloud says what it would ignore, and what it claims to emulate is really read."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore.exceptions import WaiterError

from local_cloud.emulated_properties import DATA, findings

HERE = Path(__file__).parent
CLOUD_PYTHON = HERE.parents[1] / ".venv-cloud" / "bin" / "python"
TEMPLATE: dict[str, Any] = json.loads((HERE / "every_emulated_property.json").read_text())
EMULATED = {name: lists["emulated"] for name, lists in json.loads(DATA.read_text()).items() if lists["emulated"]}
# Read when an endpoint is updated, used instead of another property of the same template, or copied with all the rest.
NOT_READ_BY_NAME = {
    "AWS::SageMaker::Endpoint": {"ExcludeRetainedVariantProperties", "RetainAllVariantProperties"},
    "AWS::ApplicationAutoScaling::ScalableTarget": {"MaxCapacity", "MinCapacity"},
    "AWS::ApplicationAutoScaling::ScalingPolicy": {
        "PolicyName",
        "PolicyType",
        "ResourceId",
        "ScalableDimension",
        "ServiceNamespace",
    },
}


@pytest.fixture(scope="module")
def reads() -> Iterator[dict[str, list[str]]]:
    """The properties that were read while a stack with all of them was made, by resource type."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [str(CLOUD_PYTHON), str(HERE / "recording_emulator.py"), "--port", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as emulator:
        yield _create_stack(url, emulator)
        assert emulator.stdin
        emulator.stdin.close()


def _create_stack(url: str, emulator: subprocess.Popen[bytes]) -> dict[str, list[str]]:
    while emulator.poll() is None:
        try:
            requests.get(f"{url}/_ministack/health", timeout=20)
            break
        except requests.ConnectionError:
            continue
    root = {"aws_access_key_id": "000000000000", "aws_secret_access_key": "unused"}
    cloudformation = boto3.client("cloudformation", endpoint_url=url, region_name="us-east-1", **root)
    cloudformation.create_stack(
        StackName="recorded", TemplateBody=json.dumps(TEMPLATE), Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    try:
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName="recorded", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    except WaiterError:
        events = cloudformation.describe_stack_events(StackName="recorded")["StackEvents"]
        pytest.fail(str([event.get("ResourceStatusReason") for event in events]))
    answer: dict[str, list[str]] = requests.get(f"{url}/_slipway/property-reads", timeout=20).json()
    return answer


@pytest.mark.parametrize("resource_type", EMULATED)
def test_a_property_listed_as_emulated_is_read(resource_type: str, reads: dict[str, list[str]]) -> None:
    listed = {path.split(".")[0] for path in EMULATED[resource_type]} - NOT_READ_BY_NAME.get(resource_type, set())
    assert listed <= set(reads[resource_type])


def test_a_template_of_emulated_properties_has_no_findings() -> None:
    assert findings(TEMPLATE) == []


def test_an_unknown_type_is_named() -> None:
    template = {"Resources": {"Jobs": {"Type": "AWS::DynamoDB::Table"}}}
    assert findings(template) == [
        "Jobs: the local cloud does not know the type AWS::DynamoDB::Table; "
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

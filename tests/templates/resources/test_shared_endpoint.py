"""A shared endpoint and the deployments on it in their templates."""

import json
from pathlib import Path
from typing import Any

import pytest

from local_cloud.assembly import read_stacks, synthesize
from support.deployments.shared_project import on_gpus, write_project
from support.templates.dashboards import body_of, strangers
from support.templates.template_parts import Template, all_of, properties, resources, variant

NAME = {"Fn::ImportValue": "slipway-endpoint-gpus"}
ROLE = {"Fn::ImportValue": "slipway-endpoint-gpus:role"}
ENDPOINT = {
    "instance_type": "ml.g6.12xlarge",
    "instance_count": {"min": 0, "max": 2},
    "volume_kms_key_arn": None,
    "alarms": {"topic_arn": "arn:aws:sns:us-east-1:111122223333:team"},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    deployments = {
        "chat": on_gpus(copies={"min": 1, "max": 3}),
        "code": on_gpus(idle="zero") | {"operations": {"dashboard": True}},
        "alone": on_gpus(1),
        "legal": on_gpus(1) | {"model": {"id": "Qwen/Qwen3-0.6B", "adapters": {"legal": "s3://bucket/legal/"}}},
    }
    project = write_project(tmp_path_factory.mktemp("shared") / "project", deployments, ENDPOINT)
    files = [str(project / "deployments" / f"{name}.yaml") for name in deployments]
    return {each.name: each.template for each in read_stacks(synthesize(["slipway-endpoint-gpus", *files]))}


def test_an_endpoint_of_a_named_region_keeps_its_acknowledgement(tmp_path: Path) -> None:
    write_project(tmp_path / "project", {"chat": on_gpus()}, {**ENDPOINT, "region": "us-east-1"})
    files = [str(tmp_path / "project" / "deployments" / "chat.yaml")]
    found = [each.name for each in read_stacks(synthesize(["slipway-endpoint-gpus", *files]))]  # cdk-nag judges it
    assert "slipway-endpoint-gpus" in found


def test_a_dashboard_shows_the_component_and_no_price_of_shared_instances(made: dict[str, Template]) -> None:
    body = body_of(made["code"])
    text = json.dumps(body)
    assert strangers(body, made["code"]) == []
    assert "no price of this one is known" in text
    assert "/aws/sagemaker/InferenceComponents" in text
    assert "/aws/sagemaker/Endpoints" not in text


def environment(template: Template) -> list[dict[str, Any]]:
    functions = resources(template, "Lambda::Function")
    found = (each["Properties"].get("Environment", {}).get("Variables", {}) for each in functions)
    return [each for each in found if "ENDPOINT_NAME" in each]


def test_the_endpoint_stands_alone_and_exports_its_name_and_role(made: dict[str, Template]) -> None:
    endpoint = made["slipway-endpoint-gpus"]
    assert "ModelName" not in variant(endpoint)
    assert variant(endpoint)["ManagedInstanceScaling"]["MinInstanceCount"] == 0
    assert variant(endpoint)["ManagedInstanceScaling"]["MaxInstanceCount"] == 2
    assert variant(endpoint)["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert resources(endpoint, "SageMaker::InferenceComponent") == []
    exports = {each["Export"]["Name"]: each["Value"] for each in endpoint["Outputs"].values() if "Export" in each}
    assert exports.keys() == {"slipway-endpoint-gpus", "slipway-endpoint-gpus:role"}
    assert exports["slipway-endpoint-gpus"] == properties(endpoint, "SageMaker::Endpoint")["EndpointName"]


def test_its_alarms_tell_the_endpoint_s_topic(made: dict[str, Template]) -> None:
    alarms = all_of(made["slipway-endpoint-gpus"], "CloudWatch::Alarm")
    assert {each["MetricName"] for each in alarms} == {"MemoryUtilization", "DiskUtilization"}
    assert all(each["AlarmActions"] == [ENDPOINT["alarms"]["topic_arn"]] for each in alarms)  # type: ignore[index]


def test_a_deployment_has_a_component_and_an_api_but_no_endpoint(made: dict[str, Template]) -> None:
    for name in ("chat", "code", "alone"):
        assert resources(made[name], "SageMaker::Endpoint") == []
        assert resources(made[name], "SageMaker::EndpointConfig") == []
        assert properties(made[name], "SageMaker::InferenceComponent")["EndpointName"] == NAME
        assert resources(made[name], "ApiGateway::RestApi")


def test_functions_call_the_imported_endpoint_and_their_own_component(made: dict[str, Template]) -> None:
    component = properties(made["chat"], "SageMaker::InferenceComponent")["InferenceComponentName"]
    variables = environment(made["chat"])
    assert variables
    for each in variables:
        assert (each["ENDPOINT_NAME"], each["ENDPOINT_CONFIGURATION"]) == (NAME, "")
        assert each["INFERENCE_COMPONENT"] == component


def test_each_deployment_scales_its_own_copies(made: dict[str, Template]) -> None:
    counts = {
        name: [
            (each["MinCapacity"], each["MaxCapacity"])
            for each in all_of(made[name], "ApplicationAutoScaling::ScalableTarget")
        ]
        for name in ("chat", "code", "alone")
    }
    assert counts == {"chat": [(1, 3)], "code": [(0, 1)], "alone": []}
    starts = {name: properties(made[name], "SageMaker::InferenceComponent")["RuntimeConfig"] for name in counts}
    assert all(each == {"CopyCount": 1} for each in starts.values())


def test_policies_of_two_deployments_in_the_endpoint_s_role_have_different_names(made: dict[str, Template]) -> None:
    """Inline policies of one name in one role would replace each other, and go with the first deployment."""
    for name in ("chat", "code"):
        (policy,) = (each for each in all_of(made[name], "IAM::Policy") if ROLE in each["Roles"])
        assert policy["Roles"] == [ROLE]
        (own,) = (
            each
            for each in all_of(made[name], "IAM::Policy")
            if each["PolicyDocument"] == policy["PolicyDocument"] and each != policy
        )
        assert ROLE not in own["Roles"]
        assert {"Ref": "AWS::StackName"} in policy["PolicyName"]["Fn::Join"][1]
        assert '"Ref": "AWS::StackId"' in json.dumps(policy["PolicyName"])


def test_the_endpoint_s_role_reads_adapters_too(made: dict[str, Template]) -> None:
    shared = [each for each in all_of(made["legal"], "IAM::Policy") if ROLE in each["Roles"]]
    assert any("bucket/legal/*" in text for text in map(json.dumps, shared))
    assert len({json.dumps(each["PolicyName"]) for each in shared}) == len(shared) == 2


def test_the_component_waits_for_all_else_of_its_deployment(made: dict[str, Template]) -> None:
    (name,) = (key for key, each in made["chat"]["Resources"].items() if each["Type"].endswith("InferenceComponent"))
    waits = set(made["chat"]["Resources"][name]["DependsOn"])
    later = {key for key in made["chat"]["Resources"] if "Scaling" in key}
    bucket = {key for key, each in made["chat"]["Resources"].items() if each["Type"] == "AWS::S3::Bucket"}
    assert bucket <= waits
    assert later
    assert not later & waits


def test_the_app_deploys_the_endpoint_first(tmp_path: Path) -> None:
    project = write_project(tmp_path, {"chat": on_gpus()})
    assembly = synthesize(["slipway-endpoint-gpus", str(project / "deployments" / "chat.yaml")])
    chat = json.loads((assembly / "manifest.json").read_text())["artifacts"]["chat"]
    assert "slipway-endpoint-gpus" in chat["dependencies"]

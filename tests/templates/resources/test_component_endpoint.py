"""An endpoint of an inference component in its template: what sleeps, what wakes it, in which order it is made."""

import json
from typing import Any

import pytest

from support.templates.template_parts import (
    Template,
    all_of,
    policies,
    properties,
    resources,
    variant,
)

COMPONENT, TARGET, POLICY = (
    "SageMaker::InferenceComponent",
    "ApplicationAutoScaling::ScalableTarget",
    "ApplicationAutoScaling::ScalingPolicy",
)


def waits_for(template: Template, first: str) -> set[str]:
    """Return the logical ids of everything that is created before a resource."""
    found, ahead = set[str](), [first]
    while ahead:
        resource = template["Resources"][ahead.pop()]
        depends = resource.get("DependsOn", [])
        named = {depends} if isinstance(depends, str) else set(depends)
        text = json.dumps(resource.get("Properties", {}))
        named |= {each for each in template["Resources"] if f'"{each}"' in text}
        ahead += named - found
        found |= named
    return found


def id_of(template: Template, kind: str) -> str:
    (found,) = (name for name, each in template["Resources"].items() if each["Type"] == f"AWS::{kind}")
    return str(found)


@pytest.fixture
def zero(templates: dict[str, Template]) -> Template:
    return templates["qwen3-4b-zero"]


def test_the_endpoint_has_no_model_and_its_instances_may_all_go(zero: Template) -> None:
    assert "ModelName" not in variant(zero)
    assert variant(zero)["ManagedInstanceScaling"] == {
        "Status": "ENABLED",
        "MinInstanceCount": 0,
        "MaxInstanceCount": 1,
        "ScaleInPolicy": {"Strategy": "IDLE_RELEASE"},
    }
    configuration = properties(zero, "SageMaker::EndpointConfig")
    assert configuration["ExecutionRoleArn"] == properties(zero, "SageMaker::Model")["ExecutionRoleArn"]


def test_the_component_is_created_with_a_copy_that_has_time_to_start(zero: Template) -> None:
    component = properties(zero, COMPONENT)
    assert component["RuntimeConfig"] == {"CopyCount": 1}, "SageMaker creates none at zero copies"
    assert component["Specification"] == {
        "ModelName": {"Fn::GetAtt": [id_of(zero, "SageMaker::Model"), "ModelName"]},
        "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 1024, "NumberOfAcceleratorDevicesRequired": 1},
        "StartupParameters": {
            "ModelDataDownloadTimeoutInSeconds": 900,
            "ContainerStartupHealthCheckTimeoutInSeconds": 900,
        },
    }
    assert component["VariantName"] == variant(zero)["VariantName"]
    assert component["EndpointName"] == properties(zero, "SageMaker::Endpoint")["EndpointName"]


def test_names_differ_from_those_of_an_endpoint_with_a_model(templates: dict[str, Template], zero: Template) -> None:
    """Both exist for a while when a deployment begins or ends to sleep."""
    always_on = templates["qwen3-4b"]
    name, other = (properties(each, "SageMaker::Endpoint")["EndpointName"] for each in (zero, always_on))
    assert name["Fn::Join"][1] == [*other["Fn::Join"][1], "-ic"]
    of_model = ("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")
    ids = [
        {logical_id for logical_id, each in template["Resources"].items() if each["Type"].startswith(of_model)}
        for template in (zero, always_on)
    ]
    assert ids[0] & ids[1] == set()


def test_the_endpoint_is_created_after_all_but_its_component_and_its_scaling(zero: Template) -> None:
    endpoint, component = id_of(zero, "SageMaker::Endpoint"), id_of(zero, COMPONENT)
    of_scaling = {
        name
        for name, each in zero["Resources"].items()
        if each["Type"].startswith("AWS::ApplicationAutoScaling::")
        or each["Properties"].get("MetricName") == "NoCapacityInvocationFailures"
    }
    assert waits_for(zero, endpoint) == set(zero["Resources"]) - {endpoint, component} - of_scaling
    assert endpoint in waits_for(zero, component)
    assert all(component in waits_for(zero, each) for each in of_scaling)


def test_copies_go_to_zero_and_a_call_at_zero_brings_one_back(zero: Template) -> None:
    target = properties(zero, TARGET)
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 1)
    assert target["ScalableDimension"] == "sagemaker:inference-component:DesiredCopyCount"
    assert target["ResourceId"]["Fn::Join"][1][0] == "inference-component/"
    tracking, wake = sorted(all_of(zero, POLICY), key=lambda each: each["PolicyType"], reverse=True)
    followed = tracking["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]
    assert followed == {
        "PredefinedMetricType": "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
    }
    steps = wake["StepScalingPolicyConfiguration"]
    assert steps["AdjustmentType"] == "ExactCapacity", "the functions ask for the first copy, too"
    assert steps["StepAdjustments"] == [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}]
    (alarm,) = (
        each for each in all_of(zero, "CloudWatch::Alarm") if each.get("MetricName") == "NoCapacityInvocationFailures"
    )
    assert [each["Name"] for each in alarm["Dimensions"]] == ["InferenceComponentName"]
    assert list(alarm["AlarmActions"][0]) == ["Ref"]
    assert zero["Resources"][alarm["AlarmActions"][0]["Ref"]]["Properties"]["PolicyName"] == "Wake"


def test_hours_follow_a_time_zone_and_fill_the_instances(templates: dict[str, Template]) -> None:
    template = templates["awake-hours"]
    target = properties(template, TARGET)
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 8), "an instance has room for four copies"
    assert target["ScheduledActions"] == [
        {
            "ScheduledActionName": "Awake",
            "Schedule": "cron(0 8 ? * MON,TUE,WED,THU,FRI *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 4},
        },
        {
            "ScheduledActionName": "MaySleep",
            "Schedule": "cron(30 18 ? * MON,TUE,WED,THU,FRI *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 0},
        },
    ]
    assert variant(template)["ManagedInstanceScaling"]["MaxInstanceCount"] == 2


def test_alarms_see_the_component_alone_and_the_idle_alarm_also_its_instances(zero: Template) -> None:
    watched = {
        alarm["MetricName"]: [each["Name"] for each in alarm["Dimensions"]]
        for alarm in all_of(zero, "CloudWatch::Alarm")
        if alarm.get("Namespace") == "AWS/SageMaker"
    }
    of_component = ["InferenceComponentName"]
    metrics = ("Invocation5XXErrors", "InvocationModelErrors", "ModelLatency", "NoCapacityInvocationFailures")
    assert watched == dict.fromkeys(metrics, of_component)
    (idle,) = (each for each in all_of(zero, "CloudWatch::Alarm") if "CPUUtilization" in json.dumps(each))
    dimensions = {
        each["Id"]: [name["Name"] for name in each["MetricStat"]["Metric"]["Dimensions"]]
        for each in idle["Metrics"]
        if "MetricStat" in each
    }
    assert dimensions == {"calls": of_component, "running": ["EndpointName", "VariantName"]}


def test_the_role_may_write_the_log_group_of_the_component_only(zero: Template) -> None:
    statements = [each for document in policies(zero, "ComponentEndpoint") for each in document["Statement"]]
    (write,) = (each for each in statements if "logs:PutLogEvents" in each["Action"])
    log_group = zero["Resources"][write["Resource"]["Fn::GetAtt"][0]]
    assert log_group["Properties"]["LogGroupName"]["Fn::Join"][1][0] == "/aws/sagemaker/InferenceComponents/"
    assert log_group["DeletionPolicy"] == "Retain"


def test_the_functions_that_call_the_model_may_wake_it_and_the_others_only_look(zero: Template) -> None:
    wake, look = "sagemaker:UpdateInferenceComponentRuntimeConfig", "sagemaker:DescribeInferenceComponent"
    assert roles_with(zero, wake) == {"ApiGenerateRole", "JobsRunJobRole"}
    assert roles_with(zero, look) >= {"ApiGenerateRole", "JobsRunJobRole", "ApiRouteRole"}
    assert all("inference-component/" in json.dumps(each["Resource"]) for each in allowing(zero, wake))
    called = json.dumps([each["Resource"] for each in allowing(zero, "sagemaker:InvokeEndpoint")])
    assert ":endpoint/" in called
    assert ":inference-component/" in called


def test_the_functions_know_the_component_and_how_often_it_may_wake(
    templates: dict[str, Template], zero: Template
) -> None:
    of_functions = [
        each["Environment"]["Variables"]
        for each in all_of(zero, "Lambda::Function")
        if "ENDPOINT_NAME" in each["Environment"]["Variables"]
    ]
    assert of_functions
    for variables in of_functions:
        assert variables["INFERENCE_COMPONENT"] == properties(zero, COMPONENT)["InferenceComponentName"]
        assert variables["WAKES_PER_DAY"] == "24"
        assert 300 < int(variables["START_ESTIMATE_IN_SECONDS"]) < 900
    assert "INFERENCE_COMPONENT" not in json.dumps(templates["qwen3-4b"])


def allowing(template: Template, action: str) -> list[dict[str, Any]]:
    return [
        statement
        for each in resources(template, "IAM::Policy")
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        if action in statement["Action"]
    ]


def roles_with(template: Template, action: str) -> set[str]:
    """Return the logical ids, without their hashes, of the roles that may do an action."""
    return {
        role["Ref"][:-8]
        for each in resources(template, "IAM::Policy")
        if action in json.dumps(each["Properties"]["PolicyDocument"])
        for role in each["Properties"]["Roles"]
    }

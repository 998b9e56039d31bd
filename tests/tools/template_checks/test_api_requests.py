"""The resources of a template are checked as API requests, which CloudFormation makes from their properties."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local_cloud.template_checks.api_requests import TYPES, findings, input_shape, member_of
from support.stacks.component_endpoints import component
from support.stacks.small_stacks import REGION
from support.templates.template_parts import Template, properties, variant

Steps = tuple[str | int, ...]


def required_members(value: Any, shape: Any, path: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """The path in the properties of every member that the API's model requires, and the member's path in the request.

    The latter has botocore's form: `ProductionVariants[0]: "VariantName"`.
    """
    if shape.type_name == "structure" and isinstance(value, dict):
        for name, each in value.items():
            member = member_of(name, shape)
            if member in shape.required_members:
                parent = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
                yield (*path, name), f'{parent.removeprefix(".") or "input"}: "{member}"'
            if member in shape.members:
                yield from required_members(each, shape.members[member], (*path, name))
    elif shape.type_name == "list" and isinstance(value, list):
        for index, each in enumerate(value):
            yield from required_members(each, shape.member, (*path, index))


def without(resource: dict[str, Any], path: Steps) -> dict[str, Any]:
    resource = copy.deepcopy(resource)
    parent = resource["Properties"]
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]
    return resource


def a_stack_set() -> Template:
    """A stack set: no shipped deployment has one."""
    made = {"StackSetName": "chat", "PermissionModel": "SERVICE_MANAGED"}
    return {"Resources": {"Set": {"Type": "AWS::CloudFormation::StackSet", "Properties": made}}}


@pytest.mark.parametrize("resource_type", TYPES)
def test_each_required_member_is_missed_by_name(resource_type: str, templates: dict[str, Template]) -> None:
    requests = TYPES[resource_type]
    shape = input_shape(requests.service, requests.operations[0])
    missed = set()
    for template in [*templates.values(), a_stack_set(), {"Resources": {"Chat": component("chat", "shared")}}]:
        for name, resource in template["Resources"].items():
            if resource["Type"] == resource_type:
                for path, said in required_members(resource["Properties"], shape):
                    if path[0] not in requests.generated and said not in missed:
                        (found, *_) = findings(template | {"Resources": {name: without(resource, path)}}, REGION)
                        assert found.startswith(f"{name} ({resource_type}): ")
                        assert f"Missing required parameter in {said}" in found
                        missed.add(said)
    # CloudFormation itself fills in all required members of these: a model's name, the number of instances.
    assert missed or resource_type in ("AWS::SageMaker::Model", "AWS::EC2::Instance")


def no_wait_interval(template: Template) -> None:
    policy = properties(template, "SageMaker::Endpoint")["DeploymentConfig"]["BlueGreenUpdatePolicy"]
    del policy["TrafficRoutingConfiguration"]["WaitIntervalInSeconds"]


def unknown_property(template: Template) -> None:
    properties(template, "SageMaker::Endpoint")["InstanceCount"] = 1


def unknown_member(template: Template) -> None:
    variant(template)["InstanceCount"] = 1


def wrong_type(template: Template) -> None:
    variant(template)["InitialInstanceCount"] = "two"


def unknown_value(template: Template) -> None:
    variant(template)["RoutingConfig"]["RoutingStrategy"] = "ROUND_ROBIN"


def above_the_maximum(template: Template) -> None:
    variant(template)["ContainerStartupHealthCheckTimeoutInSeconds"] = 3601


def below_the_minimum(template: Template) -> None:
    variant(template)["ContainerStartupHealthCheckTimeoutInSeconds"] = 59


def missing_in_one_branch(template: Template) -> None:
    name = variant(template)["VariantName"]
    variant(template)["VariantName"] = {"Fn::If": ["Named", name, {"Ref": "AWS::NoValue"}]}


def bad_value_in_a_map(template: Template) -> None:
    template["Mappings"] = {"Types": {REGION: {"type": "ml.none.xlarge"}}}
    variant(template)["InstanceType"] = {"Fn::FindInMap": ["Types", {"Ref": "AWS::Region"}, "type"]}


def of_launch(template: Template) -> dict[str, Any]:
    data: dict[str, Any] = properties(template, "EC2::LaunchTemplate")["LaunchTemplateData"]
    return data


def unknown_instance_type(template: Template) -> None:
    of_launch(template)["InstanceType"] = "c5.medium"


def unknown_tokens(template: Template) -> None:
    of_launch(template)["MetadataOptions"]["HttpTokens"] = "demanded"


def security_group_by_another_name(template: Template) -> None:
    of_launch(template)["NetworkInterfaces"][0]["SecurityGroupIds"] = ["sg-1"]


def tag_without_a_list(template: Template) -> None:
    properties(template, "EC2::Instance")["Tags"] = {"slipway:machine": "0"}


def unknown_property_of_an_instance(template: Template) -> None:
    properties(template, "EC2::Instance")["InstanceCount"] = 2


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (unknown_instance_type, "LaunchTemplateData.InstanceType: 'c5.medium' is none of its values"),
        (unknown_tokens, "LaunchTemplateData.MetadataOptions.HttpTokens: 'demanded'"),
        (security_group_by_another_name, 'LaunchTemplateData.NetworkInterfaces[0]: "SecurityGroupIds"'),
        (tag_without_a_list, "Invalid type for parameter TagSpecifications[0].Tags"),
        (unknown_property_of_an_instance, "RunInstances knows no InstanceCount"),
    ],
)
def test_what_ec2_refuses_is_named(
    templates: dict[str, Template], plant: Callable[[Template], None], said: str
) -> None:
    template = copy.deepcopy(templates["gpt2-ec2"])
    assert findings(template, REGION) == []
    plant(template)
    found = findings(template, REGION)
    assert found
    assert all(said in each for each in found)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (no_wait_interval, 'TrafficRoutingConfiguration: "WaitIntervalInSeconds"'),
        (unknown_property, "CreateEndpoint and UpdateEndpoint know no InstanceCount"),
        (unknown_member, 'Unknown parameter in ProductionVariants[0]: "InstanceCount"'),
        (wrong_type, "Invalid type for parameter ProductionVariants[0].InitialInstanceCount, value: two"),
        (unknown_value, "ProductionVariants[0].RoutingConfig.RoutingStrategy: 'ROUND_ROBIN'"),
        (above_the_maximum, "ContainerStartupHealthCheckTimeoutInSeconds: 3601 is above its maximum of 3600"),
        (below_the_minimum, "ContainerStartupHealthCheckTimeoutInSeconds, value: 59"),
        (missing_in_one_branch, 'ProductionVariants[0]: "VariantName"'),
        (bad_value_in_a_map, "ProductionVariants[0].InstanceType: 'ml.none.xlarge'"),
    ],
)
def test_what_the_api_refuses_is_named(
    templates: dict[str, Template], plant: Callable[[Template], None], said: str
) -> None:
    template = copy.deepcopy(templates["gpt2"])
    assert findings(template, REGION) == []
    plant(template)
    found = findings(template, REGION)
    assert found
    assert all(said in each for each in found)


def test_unknown_values_and_values_that_cloudformation_converts_are_accepted(templates: dict[str, Template]) -> None:
    template = copy.deepcopy(templates["gpt2"])
    template["Parameters"] = {"Count": {"Type": "Number", "Default": "1"}, "Type": {"Type": "String"}}
    variant(template)["InitialInstanceCount"] = {"Ref": "Count"}
    variant(template)["InstanceType"] = {"Ref": "Type"}
    variant(template)["RoutingConfig"] = {"Fn::GetAtt": ["Custom", "Routing"]}
    properties(template, "SageMaker::Endpoint")["RetainAllVariantProperties"] = "true"
    properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]["COUNT"] = 1
    assert findings(template, REGION) == []

"""A portable template holds for any account and region, and without its endpoint."""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.regions import container_accounts
from llm_hosting.portable.editing.places import of_type, walk
from llm_hosting.portable.template import (
    MOST_BYTES_IN_BUCKET,
    PortableTemplate,
    without_bootstrap,
)
from local_cloud.assembly import Stack
from local_cloud.checks import lint
from support.deployments.known_deployments import ACCOUNT_SETTINGS, SHIPPED, VARIANTS
from support.repository import ROOT
from support.templates.portable_templates import portable, resolution, synthesized
from support.templates.resolved_templates import resolved
from support.templates.template_parts import Template, all_of, resources

# Some templates have parameters for switches and for the bucket of archives.
GIVEN = {"DeployEndpoint": "true", "ApiAccessLogs": "true", "ArchiveBucketPrefix": "archives"}
HOSTING = {
    *("SageMaker::Endpoint", "SageMaker::EndpointConfig", "SageMaker::InferenceComponent", "SageMaker::Model"),
    *("ApplicationAutoScaling::ScalableTarget", "ApplicationAutoScaling::ScalingPolicy"),
    *("EC2::Instance", "EC2::LaunchTemplate"),
    *("CloudFormation::WaitCondition", "CloudFormation::WaitConditionHandle"),
}
WITH_HOSTING = {
    "CloudWatch::Alarm",
    "CloudWatch::CompositeAlarm",
    "CloudWatch::Dashboard",
    "IAM::Policy",
}  # those that concern only the endpoint
WITHOUT_ENDPOINTS = {"me-central-1", "us-gov-east-1"}  # as the CloudFormation schemas in cfn-lint say
PSEUDO_PARAMETERS = {
    f"AWS::{each}" for each in ("AccountId", "Partition", "Region", "StackId", "StackName", "URLSuffix")
}
# With a fixed name, each of these needs CAPABILITY_NAMED_IAM.
NAMED = {f"AWS::IAM::{each}" for each in ("Role", "User", "Group", "ManagedPolicy", "InstanceProfile")}


@pytest.fixture(scope="module")
def portables(stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory) -> dict[str, PortableTemplate]:
    """Render every shipped deployment and variant; as in `render`, without the region that own-image names."""
    given = resolution("own-image")
    others = synthesized({"own-image": given}, tmp_path_factory.mktemp("assembly"))
    return {name: portable({**stacks, **others}[name]) for name in SHIPPED + VARIANTS}


@pytest.fixture(scope="module")
def contents(portables: dict[str, PortableTemplate], templates: dict[str, Template]) -> dict[str, Template]:
    """Return these templates and that of the account settings by name."""
    settings = without_bootstrap(templates[ACCOUNT_SETTINGS])
    return {**{name: made.content for name, made in portables.items()}, ACCOUNT_SETTINGS: settings}


def both(made: PortableTemplate) -> tuple[Template, Template]:
    """Return what a deploy makes without its endpoint or machines, and with them."""
    asked = {name: value for name, value in GIVEN.items() if name in made.content["Parameters"]} | made.parameters
    return resolved(made.content, asked | {"DeployEndpoint": "false"}), resolved(made.content, asked)


def test_without_its_endpoint_a_stack_has_nothing_that_bills_by_the_hour(
    portables: dict[str, PortableTemplate],
) -> None:
    for name, made in portables.items():
        without, whole = both(made)
        assert not any(resources(without, kind) for kind in HOSTING), name
        gone = {whole["Resources"][each]["Type"] for each in whole["Resources"].keys() - without["Resources"].keys()}
        assert gone <= {f"AWS::{kind}" for kind in HOSTING | WITH_HOSTING}, name
        assert not re.search("EndpointName|EndpointConfigName", json.dumps(resources(without, "CloudWatch::Alarm")))
        assert whole["Outputs"].keys() - without["Outputs"].keys() <= {
            *("Dashboard", "EndpointName", "EndpointPage", "IdleAlarm", "InferenceComponentName", "Machines")
        }


def test_without_its_endpoint_a_stack_refers_to_no_missing_resource(
    portables: dict[str, PortableTemplate],
) -> None:
    for name, made in portables.items():
        for sections in both(made):
            assert dangling(sections) == set(), name


def test_functions_know_whether_there_is_an_endpoint(portables: dict[str, PortableTemplate]) -> None:
    for name, made in portables.items():
        for sections, expected in zip(both(made), ("false", "true"), strict=True):
            for function in all_of(sections, "Lambda::Function"):
                assert function["Environment"]["Variables"]["ENDPOINT_DEPLOYED"] == expected, name


def dangling(sections: Template) -> set[str]:
    """Return the names to which resources and outputs refer and which do not exist."""
    named = {name for each in walk(sections) if isinstance(each, dict) for name in references(each)}
    return named - {*sections["Resources"], *PSEUDO_PARAMETERS}


def references(value: dict[str, Any]) -> Iterator[str]:
    if isinstance(value.get("Ref"), str):
        yield value["Ref"]
    if "Fn::GetAtt" in value:
        yield value["Fn::GetAtt"][0]
    depends = value.get("DependsOn", [])
    yield from [depends] if isinstance(depends, str) else depends


@pytest.mark.parametrize(
    "planted", [{"Value": {"Fn::Sub": "${%s}"}}, {"Value": {"Fn::GetAtt": ["%s", "ModelName"]}}, {"DependsOn": ["%s"]}]
)
def test_a_reference_to_a_left_out_resource_is_found(
    portables: dict[str, PortableTemplate], planted: dict[str, Any]
) -> None:
    content = copy.deepcopy(portables["gpt2"].content)
    (model,) = of_type(content, "AWS::SageMaker::Model")
    content["Outputs"]["Planted"] = json.loads(json.dumps(planted).replace("%s", model))
    assert dangling(resolved(content)) == {model}


def test_no_account_region_or_partition_stands_in_a_template(contents: dict[str, Template]) -> None:
    let_in = {"private": {"444455556666"}}  # accounts that the file names in api.allow are defaults
    assert {name: literals(each) for name, each in contents.items()} == {
        name: let_in.get(name, set()) for name in contents
    }


def literals(content: Template) -> set[str]:
    """Return literal account ids, regions, partitions and bootstrap names, except in rules and image accounts."""
    accounts = [name for name, rows in content.get("Mappings", {}).items() if "us-east-1" in rows]
    mappings = {name: rows for name, rows in content.get("Mappings", {}).items() if name not in (*accounts, "Code")}
    text = json.dumps({**content, "Mappings": mappings, "Rules": {}})
    regions = "|".join(container_accounts())
    places = rf"arn:aws[a-z-]*:|\b(?:{regions})\b|\b[0-9]{{12}}\b|amazonaws\.com\.cn|\.amazonaws\.com/"
    return set(re.findall(rf"{places}|cdk-|aws:cdk|aws:asset|BootstrapVersion", text))


@pytest.mark.parametrize(
    "planted", ["arn:aws-cn:s3:::x", "in eu-west-1", "111122223333", "cdk-hnb659fds-assets", "x.amazonaws.com/"]
)
def test_a_planted_literal_is_found(contents: dict[str, Template], planted: str) -> None:
    assert literals({**contents["gpt2"], "Outputs": {"Planted": {"Value": planted}}})


def test_stack_sets_and_capability_iam_are_enough(contents: dict[str, Template]) -> None:
    for name, content in contents.items():
        assert refused(content) == [], name


def refused(content: Template) -> list[str]:
    """Return what stack sets refuse, or accept only with more than CAPABILITY_IAM."""
    own_names = [
        logical_id
        for logical_id, each in content["Resources"].items()
        if each["Type"] in NAMED and any(key.endswith("Name") for key in each.get("Properties", {}))
    ]
    foreign = [
        logical_id
        for logical_id, each in content["Resources"].items()
        if each["Type"].startswith(("Custom::", "AWS::CloudFormation::"))
        and each["Type"] not in ("AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle")
    ]
    transforms = [name for name in ("Transform", "Fn::Transform") if f'"{name}"' in json.dumps(content)]
    return [*own_names, *foreign, *transforms, *(name for name in content["Resources"].values() if "Metadata" in name)]


@pytest.mark.parametrize(
    "planted",
    [
        {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "x"}},
        {"Type": "AWS::CloudFormation::Stack", "Properties": {}},
        {"Type": "Custom::Thing", "Properties": {}},
        {"Type": "AWS::S3::Bucket", "Properties": {"Fn::Transform": {}}},
    ],
    ids=lambda planted: str(planted["Type"]),
)
def test_a_template_that_stack_sets_refuse_is_found(contents: dict[str, Template], planted: dict[str, Any]) -> None:
    content = contents["gpt2"]
    assert refused({**content, "Resources": {**content["Resources"], "Planted": planted}})


def test_the_endpoint_has_the_deployments_name_however_long_the_stacks_is(
    portables: dict[str, PortableTemplate],
) -> None:
    for name, made in portables.items():
        for endpoint in all_of(made.content, "SageMaker::Endpoint"):
            text, unique, *_ = endpoint["EndpointName"]["Fn::Join"][1]
            assert text == f"{name}-"
            assert "AWS::StackId" in json.dumps(unique)


def test_every_template_fits_into_a_bucket(portables: dict[str, PortableTemplate]) -> None:
    sizes = {name: len(portables[name].body().encode()) for name in ("qwen3-4b-async", "playground", "own-network")}
    assert max(sizes.values()) < MOST_BYTES_IN_BUCKET * 0.9, "there is room for more"


def test_cfn_lint_is_silent_in_every_region(portables: dict[str, PortableTemplate], tmp_path: Path) -> None:
    """Templates with many features: scaling from zero and the page; machines with weights, keys, network, archives."""
    given = resolution("qwen3-4b-async")
    api = given.deployment.api.model_copy(update={"playground": True})
    paged = replace(given, deployment=given.deployment.model_copy(update={"api": api}))
    stack = synthesized({"paged": paged}, tmp_path)["paged"]
    made = {"paged": portable(stack, paged), "own-network": portables["own-network"]}
    assert {"start", "Serve", "Route"} <= made["paged"].content["Mappings"]["Code"].keys()
    for name, each in made.items():
        (tmp_path / f"{name}.yaml").write_text(each.body())
    lint([tmp_path / f"{name}.yaml" for name in made], sorted(container_accounts().keys() - WITHOUT_ENDPOINTS))


def test_the_page_names_every_parameter(portables: dict[str, PortableTemplate]) -> None:
    page = (ROOT / "docs" / "portable-template.md").read_text()
    rows = re.findall(r"^\| (`[A-Z][^|]*) \| ([^|]*)\|", page, re.MULTILINE)
    named = {name: default for names, default in rows for name in re.findall(r"`(\w+)`", names)}
    declared: dict[str, Any] = {}
    for made in portables.values():
        declared |= made.content["Parameters"]
    in_no_variant = {"HubTokenSecretArn", "DataKeyArn", "LogKeyArn", "SecurityGroupId1", "RouteTableId1"}
    first = {re.sub("[0-9]+$", "1", name): each for name, each in declared.items()}  # of parameters with numbers
    assert named.keys() - in_no_variant == first.keys() - in_no_variant
    for name, each in first.items():
        assert bool(named[name].strip()) == ("Default" in each), name

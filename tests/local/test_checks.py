"""What the emulator would accept silently is refused before anything is deployed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_cloud.assembly import Stack
from local_cloud.checks import TemplateError, check


def unknown_type(template: dict[str, Any]) -> None:
    template["Resources"]["Planted"] = {"Type": "AWS::SageMaker::InferenceComponent", "Properties": {}}


def unknown_property(template: dict[str, Any]) -> None:
    template["Resources"]["Planted"] = {"Type": "AWS::Logs::LogGroup", "Properties": {"Retention": 3}}


def ignored_property(template: dict[str, Any]) -> None:
    function = next(each for each in template["Resources"].values() if each["Type"] == "AWS::Lambda::Function")
    function["Properties"]["FileSystemConfigs"] = [{"Arn": "arn", "LocalMountPath": "/mnt/x"}]


def missing_required_property(template: dict[str, Any]) -> None:
    endpoint = next(each for each in template["Resources"].values() if each["Type"] == "AWS::SageMaker::Endpoint")
    del endpoint["Properties"]["EndpointConfigName"]


def dangling_reference(template: dict[str, Any]) -> None:
    template["Outputs"]["Planted"] = {"Value": {"Ref": "Nothing"}}


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (unknown_type, "AWS::SageMaker::InferenceComponent"),
        (unknown_property, "Retention"),
        (ignored_property, "FileSystemConfigs"),
        (missing_required_property, "EndpointConfigName"),
        (dangling_reference, "Nothing"),
    ],
)
def test_it_is_refused_by_name(
    stacks: dict[str, Stack], tmp_path: Path, plant: Callable[[dict[str, Any]], None], said: str
) -> None:
    template = stacks["gpt2"].template
    plant(template)
    (path := tmp_path / "planted.json").write_text(json.dumps(template))
    with pytest.raises(TemplateError, match=said):
        check(replace(stacks["gpt2"], template_path=path))


def test_what_we_deploy_passes(stacks: dict[str, Stack]) -> None:
    check(stacks["gpt2"])

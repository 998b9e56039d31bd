"""Templates that the emulator would silently accept wrongly are refused before anything is deployed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.loaders import Loader

from local_cloud.assembly import Stack
from local_cloud.checks import RefusedTemplateError, check
from local_cloud.template_checks.api_requests import input_shape
from support.templates.template_parts import Template, all_of, properties


def unknown_type(template: Template) -> None:
    template["Resources"]["Planted"] = {"Type": "AWS::SageMaker::InferenceComponent", "Properties": {}}


def unknown_property(template: Template) -> None:
    template["Resources"]["Planted"] = {"Type": "AWS::Logs::LogGroup", "Properties": {"Retention": 3}}


def ignored_property(template: Template) -> None:
    all_of(template, "Lambda::Function")[0]["FileSystemConfigs"] = [{"Arn": "arn", "LocalMountPath": "/mnt/x"}]


def missing_required_property(template: Template) -> None:
    del properties(template, "SageMaker::Endpoint")["EndpointConfigName"]


def dangling_reference(template: Template) -> None:
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
def test_a_template_that_the_emulator_would_accept_silently_is_refused(
    stacks: dict[str, Stack], tmp_path: Path, plant: Callable[[Template], None], said: str
) -> None:
    template = stacks["gpt2"].template
    plant(template)
    (path := tmp_path / "planted.json").write_text(json.dumps(template))
    with pytest.raises(RefusedTemplateError, match=said):
        check(replace(stacks["gpt2"], template_path=path))


def test_what_we_deploy_passes(stacks: dict[str, Stack]) -> None:
    check(stacks["gpt2"])


def test_the_users_botocore_does_not_decide(
    stacks: dict[str, Stack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    input_shape.cache_clear()
    monkeypatch.setattr(Loader, "BUILTIN_DATA_PATH", str(tmp_path))
    check(stacks["gpt2"])

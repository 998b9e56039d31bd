"""Each rule with a deployment that breaks it and one that does not."""

from typing import Any

import pytest

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.check import check
from llm_hosting.preflight.rules import RULES

GOOD: dict[str, Any] = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge"}}
KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd"
URI = "444455556666.dkr.ecr.us-west-2.amazonaws.com/lmi:1-cu130"

BROKEN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("known-engine-version", "error", "serving.version", {"serving": {"engine": "tgi", "version": "1.4"}}),
    ("known-instance-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.g6.3xlarge"}}),
    ("gpu-image-on-gpu-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.m5.xlarge"}}),
    ("gpu-image-on-gpu-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.inf2.xlarge"}}),
    ("degree-fits-instance", "error", "serving.tensor_parallel_degree", {"serving": {"tensor_parallel_degree": 2}}),
    ("no-volume-beside-nvme", "error", "hosting.volume_size_in_gb", {"hosting": {"volume_size_in_gb": 9}}),
    ("no-volume-beside-nvme", "error", "hosting.volume_kms_key_arn", {"hosting": {"volume_kms_key_arn": KEY}}),
    ("count-is-a-range", "error", "hosting.instance_count.min", {"hosting": {"instance_count": {"min": 0}}}),
    ("count-is-a-range", "error", "hosting.instance_count.max", {"hosting": {"instance_count": {"min": 3}}}),
    ("region-has-images", "error", "region", {"region": "eu-west-9"}),
    ("image-is-in-region", "error", "serving.image_uri", {"region": "eu-west-1", "serving": {"image_uri": URI}}),
    ("image-uri-wins", "warning", "serving.version", {"serving": {"image_uri": URI, "version": "0.36.0-lmi28"}}),
    ("isolation-needs-weights", "error", "hosting.network_isolation", {"hosting": {"network_isolation": True}}),
    ("key-needs-weights", "error", "model.weights_kms_key_arn", {"model": {"weights_kms_key_arn": KEY}}),
    ("revision-needs-hub", "warning", "model.revision", {"model": {"revision": "main", "weights": "s3://abc/d/"}}),
    (
        "ami-fits-kind",
        "error",
        "hosting.inference_ami_version",
        {"hosting": {"inference_ami_version": "al2-ami-sagemaker-inference-neuron-2"}},
    ),
    (
        "no-secret-in-environment",
        "error",
        "serving.environment.HF_TOKEN",
        {"serving": {"environment": {"HF_TOKEN": "x"}}},
    ),
    (
        "no-secret-in-environment",
        "error",
        "serving.environment.EXTRA",
        {"serving": {"environment": {"EXTRA": "hf_abcdefghij"}}},
    ),
    (
        "environment-fits",
        "error",
        "serving.environment",
        {"serving": {"environment": {f"V{n}": "x" * 1000 for n in range(33)}}},
    ),
    ("hf-task-is-ignored", "warning", "serving.environment.HF_TASK", {"serving": {"environment": {"HF_TASK": "x"}}}),
    ("quota-needs-api-key", "error", "api.quota", {"api": {"quota": {"limit": 5}}}),
    ("shared-secret", "warning", "api.auth", {"api": {"auth": "api-key"}}),
    ("open-to-the-internet", "warning", "api.auth", {"api": {"auth": "none"}}),
]


def deployment(changes: dict[str, Any]) -> Deployment:
    merged = dict(GOOD)
    for section, value in changes.items():
        merged[section] = {**GOOD.get(section, {}), **value} if isinstance(value, dict) else value
    return Deployment.model_validate(merged)


def test_a_good_deployment_has_no_findings() -> None:
    assert check(deployment({})) == []


@pytest.mark.parametrize(("rule", "level", "field", "changes"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_broken_rule_is_found_and_names_its_field(rule: str, level: str, field: str, changes: dict[str, Any]) -> None:
    found = {(each.rule, each.level, each.field) for each in check(deployment(changes))}
    assert found == {(rule, level, field)}


def test_every_rule_has_a_case_that_breaks_it() -> None:
    assert {rule.__name__.replace("_", "-") for rule in RULES} == {rule for rule, *_ in BROKEN}


@pytest.mark.parametrize(("rule", "level", "field", "changes"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_finding_never_repeats_a_secret(rule: str, level: str, field: str, changes: dict[str, Any]) -> None:
    assert "hf_abcdefghij" not in str(check(deployment(changes)))

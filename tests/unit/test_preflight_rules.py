"""Each rule with a deployment that breaks it and one that does not."""

from typing import Any

import pytest

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.check import check
from llm_hosting.preflight.finding import RULES

GOOD: dict[str, Any] = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge"}}
KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd"
TOPIC = "arn:aws:sns:us-east-1:111122223333:on-call"
OLD_AMI, AMI = "al2-ami-sagemaker-inference-gpu-3-1", "al2023-ami-sagemaker-inference-gpu-4-1"
URI = "444455556666.dkr.ecr.us-west-2.amazonaws.com/lmi:1-cu130"

OLD_LMI = "444455556666.dkr.ecr.us-west-2.amazonaws.com/djl-inference:0.30.0-lmi12.0.0-cu124"
COPY_OF_OLD_LMI = "444455556666.dkr.ecr.us-west-2.amazonaws.com/team/llm:0.27.0-deepspeed0.12.6-cu121"
LONG, SLOW = {"deadline_in_seconds": 21_600 + 900 + 361}, {"latency_in_seconds": 50}
ASYNC = {"mode": "async", "instance_count": {"min": 0, "max": 2}}

BROKEN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("known-engine-version", "error", "serving.version", {"serving": {"engine": "tgi", "version": "1.4"}}),
    ("known-instance-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.g6.3xlarge"}}),
    ("gpu-image-on-gpu-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.m5.xlarge"}}),
    ("gpu-image-on-gpu-type", "error", "hosting.instance_type", {"hosting": {"instance_type": "ml.inf2.xlarge"}}),
    ("degree-fits-instance", "error", "serving.tensor_parallel_degree", {"serving": {"tensor_parallel_degree": 2}}),
    ("no-volume-beside-nvme", "error", "hosting.volume_size_in_gb", {"hosting": {"volume_size_in_gb": 9}}),
    (
        "no-volume-beside-nvme",
        "error",
        "hosting.volume_kms_key_arn",
        {"region": "us-east-1", "hosting": {"volume_kms_key_arn": KEY}},
    ),
    ("count-is-a-range", "error", "hosting.instance_count.max", {"hosting": {"instance_count": {"min": 3}}}),
    ("region-has-images", "error", "region", {"region": "eu-west-9"}),
    ("image-is-in-region", "error", "serving.image_uri", {"region": "eu-west-1", "serving": {"image_uri": URI}}),
    ("image-uri-wins", "warning", "serving.version", {"serving": {"image_uri": URI, "version": "0.36.0-lmi28"}}),
    ("isolation-needs-weights", "error", "hosting.network_isolation", {"hosting": {"network_isolation": True}}),
    (
        "key-needs-weights",
        "error",
        "model.weights_kms_key_arn",
        {"region": "us-east-1", "model": {"weights_kms_key_arn": KEY}},
    ),
    ("revision-needs-hub", "warning", "model.revision", {"model": {"revision": "main", "weights": "s3://abc/d/"}}),
    (
        "cuda-13-needs-turing",
        "error",
        "hosting.instance_type",
        {"hosting": {"instance_type": "ml.p3.2xlarge", "inference_ami_version": AMI}},
    ),
    (
        "ami-is-known",
        "warning",
        "hosting.inference_ami_version",
        {"serving": {"image_uri": URI.removesuffix("-cu130")}},
    ),
    ("ami-fits-cuda", "warning", "hosting.inference_ami_version", {"hosting": {"inference_ami_version": OLD_AMI}}),
    ("lmi-on-t4", "warning", "hosting.instance_type", {"hosting": {"instance_type": "ml.g4dn.xlarge"}}),
    ("update-outlasts-alarms", "warning", "hosting.update_wait_in_seconds", {"hosting": {"update_wait_in_seconds": 9}}),
    (
        "scaling-needs-a-range",
        "warning",
        "hosting.scaling.scale_in_cooldown_in_seconds",
        {"hosting": {"scaling": {"scale_in_cooldown_in_seconds": 9, "concurrent_requests_per_instance": 2}}},
    ),
    (
        "scaling-needs-a-range",
        "warning",
        "hosting.scaling.concurrent_requests_per_instance",
        {"hosting": {"scaling": {"concurrent_requests_per_instance": 2}}, "jobs": {"enabled": False}},
    ),
    (
        "backlog-needs-async",
        "warning",
        "hosting.scaling.backlog_per_instance",
        {"hosting": {"instance_count": {"max": 2}, "scaling": {"backlog_per_instance": 2}}},
    ),
    (
        "concurrency-fits-async",
        "error",
        "hosting.scaling.concurrent_requests_per_instance",
        {"hosting": {"mode": "async", "scaling": {"concurrent_requests_per_instance": 1001}}},
    ),
    ("zero-can-wake", "error", "hosting.instance_count.min", {"hosting": {"instance_count": {"min": 0}}}),
    ("lmi-answers-async", "error", "serving.image_uri", {"hosting": ASYNC, "serving": {"image_uri": OLD_LMI}}),
    ("lmi-answers-async", "error", "serving.image_uri", {"hosting": ASYNC, "serving": {"image_uri": COPY_OF_OLD_LMI}}),
    ("jobs-have-owners", "error", "jobs.enabled", {"api": {"auth": "none"}}),
    ("async-needs-jobs", "error", "jobs.enabled", {"hosting": ASYNC, "jobs": {"enabled": False}}),
    (
        "deadline-leaves-time",
        "error",
        "jobs.deadline_in_seconds",
        {"hosting": {"mode": "async"}, "jobs": {"deadline_in_seconds": 1259}},
    ),
    ("deadline-outlasts-no-queue", "error", "jobs.deadline_in_seconds", {"hosting": ASYNC, "jobs": LONG}),
    (
        "deadline-outlasts-start",
        "warning",
        "jobs.deadline_in_seconds",
        {"hosting": ASYNC, "jobs": {"deadline_in_seconds": 3059}},
    ),
    (
        "timeout-needs-async",
        "error",
        "jobs.invocation_timeout_in_seconds",
        {"jobs": {"invocation_timeout_in_seconds": 61}},
    ),
    ("workers-need-realtime", "error", "jobs.max_concurrency", {"hosting": ASYNC, "jobs": {"max_concurrency": 2}}),
    (
        "protection-needs-retain",
        "error",
        "jobs.on_destroy",
        {"jobs": {"on_destroy": "delete", "deletion_protection": True}},
    ),
    (
        "settings-need-jobs",
        "warning",
        "jobs.max_waiting",
        {"jobs": {"enabled": False, "max_waiting": 5}},
    ),
    ("latency-needs-realtime", "warning", "alarms.latency_in_seconds", {"hosting": ASYNC, "alarms": SLOW}),
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
    (
        "environment-wins",
        "warning",
        "serving.environment.SERVING_FAIL_FAST",
        {"serving": {"environment": {"SERVING_FAIL_FAST": "false"}}},
    ),
    ("hf-task-is-ignored", "warning", "serving.environment.HF_TASK", {"serving": {"environment": {"HF_TASK": "x"}}}),
    ("quota-needs-api-key", "error", "api.quota", {"api": {"quota": {"limit": 5}}}),
    ("shared-secret", "warning", "api.auth", {"api": {"auth": "api-key"}}),
    ("arns-are-in-region", "error", "alarms.topic_arn", {"region": "eu-west-1", "alarms": {"topic_arn": TOPIC}}),
    ("arns-pin-the-region", "warning", "alarms.topic_arn", {"alarms": {"topic_arn": TOPIC}}),
    ("open-to-the-internet", "warning", "api.auth", {"api": {"auth": "none"}, "jobs": {"enabled": False}}),
]


def deployment(changes: dict[str, Any]) -> Deployment:
    merged = dict(GOOD)
    for section, value in changes.items():
        merged[section] = {**GOOD.get(section, {}), **value} if isinstance(value, dict) else value
    return Deployment.model_validate(merged)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hosting": ASYNC},
        {"hosting": ASYNC, "jobs": {"deadline_in_seconds": 21_600 + 900 + 360}},
        {"hosting": {"mode": "async"}, "jobs": {"deadline_in_seconds": 1260}},
        {"hosting": ASYNC, "serving": {"image_uri": OLD_LMI.replace("0.30.0", "0.31.0")}},
        {"hosting": {"scaling": {"concurrent_requests_per_instance": 2}}},
    ],
    ids=["default", "async", "longest deadline", "shortest deadline", "first LMI for async", "fewer workers"],
)
def test_a_good_deployment_has_no_findings(changes: dict[str, Any]) -> None:
    assert check(deployment(changes)) == []


@pytest.mark.parametrize(("rule", "level", "field", "changes"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_broken_rule_is_found_and_names_its_field(rule: str, level: str, field: str, changes: dict[str, Any]) -> None:
    findings = check(deployment(changes))
    # Of what is refused, the warnings are never printed.
    shown = [each for each in findings if each.level == "error"] or findings
    assert {(each.rule, each.level, each.field) for each in shown} == {(rule, level, field)}


def test_every_rule_has_a_case_that_breaks_it() -> None:
    assert {rule.id for rule in RULES} == {rule for rule, *_ in BROKEN}


def test_a_finding_never_repeats_a_secret() -> None:
    (finding,) = check(deployment({"serving": {"environment": {"EXTRA": "hf_abcdefghij"}}}))
    assert "hf_abcdefghij" not in str(finding)

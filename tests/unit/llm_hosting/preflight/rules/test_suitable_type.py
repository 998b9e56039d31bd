"""The type to use instead: the same one for a deployment, whichever of its rules refuse it."""

import re
from typing import Any

import pytest
from hypothesis import given, settings

from llm_hosting.catalog.instances import InstanceType, ec2_instances, instances
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import build_report
from llm_hosting.preflight.rules.suitable_type import by_price
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import resolve
from support.deployments.any_deployments import deployments
from support.deployments.good_one import findings, resolved

TYPES = instances().keys() | ec2_instances().keys()
NEAR_NAMES = "known-instance-type"  # it corrects a misspelt name


def advised(deployment: Deployment) -> set[str]:
    """Return the types that the refusals and the report name, without the deployment's own types."""
    resolution = resolve(deployment)
    found = validate(resolution)
    fixes = [each.fix for each in found if each.level == "error" and each.rule != NEAR_NAMES]
    said = " ".join([*fixes, build_report("chat", resolution, found).suitable_type])
    own = {f"{prefix}{name}" for name in deployment.hosting.instance_types for prefix in ("", "ml.")}
    return TYPES & set(re.findall(r"[\w.-]*\w", said)) - own


@pytest.mark.parametrize("types", [instances(), ec2_instances()])
def test_more_cpus_beside_the_same_accelerators_never_come_first(types: dict[str, InstanceType]) -> None:
    most: dict[tuple[str, int], int] = {}
    for each in sorted((each for each in types.values() if each.likely_usd_per_hour), key=by_price):
        twins = each.family, each.accelerator_count
        assert each.vcpu >= most.get(twins, 0), each.type
        most[twins] = each.vcpu


@pytest.mark.slow
@given(any_deployment=deployments())
@settings(max_examples=60, deadline=None)
def test_all_refusals_name_one_type(any_deployment: Deployment) -> None:
    assert len(advised(any_deployment)) <= 1


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        (
            {"model": {"id": "Qwen/Qwen3-8B", "dtype": "bf16"}, "hosting": {"instance_type": "ml.g4dn.xlarge"}},
            {"dtype-fits-accelerator", "weights-fit-memory"},
        ),
        (
            {"model": {"id": "mistralai/Mistral-7B-v0.1"}, "serving": {"engine": "tgi", "version": "1.4.0"}}
            | {"hosting": {"instance_type": "ml.inf1.2xlarge"}},
            {"image-fits-platform", "weights-fit-memory"},
        ),
        (
            {"serving": {"tensor_parallel_degree": 4}, "hosting": {"instance_type": "ml.p3.2xlarge"}},
            {"accelerator-is-new-enough", "degree-fits-instance"},
        ),
    ],
)
def test_rules_that_want_another_type_want_the_same(changes: dict[str, Any], rules: set[str]) -> None:
    assert rules <= {each.rule for each in findings(changes) if "such as ml." in each.fix}
    assert len(advised(resolved(changes).deployment)) == 1


def test_a_type_is_named_beside_a_mistake_that_no_type_mends() -> None:
    changes = {"model": {"id": "Qwen/Qwen3-32B"}, "serving": {"max_model_len": 4096, "max_new_tokens": 8192}}
    (finding,) = (each for each in findings(changes) if each.rule == "weights-fit-memory")
    assert "such as ml." in finding.fix


def test_a_smaller_type_is_offered_only_where_nothing_is_refused() -> None:
    serving = {"engine": "vllm", "tensor_parallel_degree": 1}

    def fix(model: str) -> str:
        changes = {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": "ml.g6.12xlarge"}}
        return next(each.fix for each in findings(changes) if each.rule == "degree-uses-accelerators")

    assert fix("Qwen/Qwen3-0.6B") == "use ml.g6.xlarge, or a higher serving.tensor_parallel_degree"
    assert fix("Qwen/Qwen3-32B") == "use a higher serving.tensor_parallel_degree"
